// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	coreapis "github.com/bowline-dev/bowline/apis"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis"
	"github.com/bowline-dev/bowline/providers/fcp/apis/crds"
)

const module = "github.com/bowline-dev/bowline/"

// A rootKind is a kind of the provider with its Go type and its definition.
type rootKind struct {
	gvk        schema.GroupVersionKind
	object     client.Object // empty
	definition *apiextensionsv1.CustomResourceDefinition
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// rootKinds returns the kinds whose objects implement R.
func rootKinds[R any](t *testing.T) []rootKind {
	t.Helper()
	definitions, err := crd.Load(crds.FS)
	if err != nil {
		t.Fatal(err)
	}
	s := newScheme(t)
	var kinds []rootKind
	for _, d := range definitions {
		gvk := schema.GroupVersionKind{Group: d.Spec.Group, Version: d.Spec.Versions[0].Name, Kind: d.Spec.Names.Kind}
		o, err := s.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := o.(R); ok {
			kinds = append(kinds, rootKind{gvk, o.(client.Object), d})
		}
	}
	if len(kinds) == 0 {
		t.Fatalf("no kind is a %s", reflect.TypeFor[R]())
	}
	return kinds
}

func (k rootKind) String() string { return k.gvk.Kind + " of " + k.gvk.Group }

func (k rootKind) namespaced() bool {
	return k.definition.Spec.Scope == apiextensionsv1.NamespaceScoped
}

// part returns the type of a field, by the names of fields from the top.
func (k rootKind) part(t *testing.T, path ...string) reflect.Type {
	t.Helper()
	typ := reflect.TypeOf(k.object).Elem()
	for _, name := range path {
		f, ok := typ.FieldByName(name)
		if !ok {
			t.Fatalf("%s has no field %s", typ, name)
		}
		typ = f.Type
	}
	return typ
}

// schema returns the schema of a property, by the names of properties from the top.
func (k rootKind) schema(path ...string) apiextensionsv1.JSONSchemaProps {
	s := *k.definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, name := range path {
		s = s.Properties[name]
	}
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	managed, configs, classes := rootKinds[resource.Managed](t), rootKinds[resource.ProviderConfig](t), rootKinds[resource.Class](t)
	all := rootKinds[client.Object](t)
	if got := len(managed) + len(configs) + len(classes); got != len(all) {
		t.Errorf("%d of %d kinds are neither managed nor classes nor provider configurations", len(all)-got, len(all))
	}
	for _, rule := range []struct {
		name  string
		kinds []rootKind
		check func(*testing.T, rootKind)
	}{
		{"list kind (K14 A33)", all, hasList},
		{"plural and singular names (T26)", all, hasNames},
		{"status embeds ResourceStatus (K2)", managed, func(t *testing.T, k rootKind) { embeds[xpv1.ResourceStatus](t, k.part(t, "Status")) }},
		{"spec embeds ResourceSpec (K3)", managed, embedsSpec},
		{"forProvider (K4)", managed, hasForProvider},
		{"both scopes (N1)", managed, hasOtherScope},
		{"top struct and status subresource (K5 K8)", managed, topStruct},
		{"nothing beside forProvider, initProvider and atProvider (P30)", managed, keepsFieldsApart},
		{"fields have their names in JSON (P6)", managed, spellsAcronyms},
		{"required settings are values, others may be left out (P40 P41 P43 P46)", managed, requiresSettings},
		{"secrets are random by default (P63)", managed, describesSecrets},
		{"observations are left out when empty (P50 P51)", managed, omitsObservations},
		{"no setting of a struct is also an observation of it (P32 P33)", managed, separatesSettings},
		{"immutable settings (R177 P70 P71 P72 N7)", managed, protectsImmutable},
		{"spec embeds ProviderSpec (K52)", configs, func(t *testing.T, k rootKind) { embeds[xpv1.ProviderSpec](t, k.part(t, "Spec")) }},
		{"scope of configurations (K53 N2)", configs, hasConfigScope},
		{"named ProviderConfig, with top struct and status subresource (K51 D10 K5 K8)", configs, isConfig},
		{"status counts users (N12)", configs, countsUsers},
		{"specTemplate, no spec, no status (K21 K22 K24 K27)", classes, isTemplate},
		{"settings and package of the managed kind (K20 K23 K25 K26 K29 N28)", classes, matchesManagedKind},
		{"claim kinds are those of the core (N10 K37)", classes, namesClaims},
	} {
		for _, k := range rule.kinds {
			t.Run(rule.name+" "+k.String(), func(t *testing.T) {
				t.Parallel()
				rule.check(t, k)
			})
		}
	}
}

// embeds requires a struct with T inline.
func embeds[T any](t *testing.T, typ reflect.Type) {
	t.Helper()
	want := reflect.TypeFor[T]()
	f, ok := typ.FieldByName(want.Name())
	if !ok || !f.Anonymous || f.Type != want || f.Tag.Get("json") != ",inline" {
		t.Errorf("%s does not embed %s inline", typ, want)
	}
}

func hasList(t *testing.T, k rootKind) {
	o, err := newScheme(t).New(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	if err != nil {
		t.Fatal(err)
	}
	_, isList := o.(client.ObjectList)
	_, isClass := k.object.(resource.Class)
	_, listsClasses := o.(resource.ClassList)
	if !isList || isClass != listsClasses {
		t.Errorf("%T is a list: %t, of classes: %t", o, isList, listsClasses)
	}
	items, ok := reflect.TypeOf(o).Elem().FieldByName("Items")
	if !ok || items.Tag.Get("json") != "items" || items.Type != reflect.SliceOf(k.part(t)) {
		t.Errorf("items of %T: %v with the tag %q", o, items.Type, items.Tag.Get("json"))
	}
}

func hasNames(t *testing.T, k rootKind) {
	singular := strings.ToLower(k.gvk.Kind)
	plural := singular + "s"
	if strings.HasSuffix(singular, "s") {
		plural = singular + "es"
	}
	want := []string{singular, plural, k.gvk.Kind + "List"}
	n := k.definition.Spec.Names
	if diff := cmp.Diff(want, []string{n.Singular, n.Plural, n.ListKind}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func embedsSpec(t *testing.T, k rootKind) {
	if k.namespaced() {
		embeds[xpv1.NamespacedResourceSpec](t, k.part(t, "Spec"))
		return
	}
	embeds[xpv1.ResourceSpec](t, k.part(t, "Spec"))
}

func hasForProvider(t *testing.T, k rootKind) {
	f, _ := k.part(t, "Spec").FieldByName("ForProvider")
	if got := f.Tag.Get("json"); got != "forProvider" || f.Anonymous || f.Type.Name() != k.gvk.Kind+"Parameters" {
		t.Errorf("forProvider is a %v with the tag %q", f.Type, got)
	}
	if !slices.Contains(k.schema("spec").Required, "forProvider") {
		t.Error("the definition does not require forProvider")
	}
}

func hasOtherScope(t *testing.T, k rootKind) {
	if !slices.ContainsFunc(rootKinds[resource.Managed](t), func(other rootKind) bool { return other.namespaced() != k.namespaced() }) {
		t.Error("all kinds have the same scope")
	}
}

// checkTop compares the fields of the top struct with their tags, and the fields that the definition requires.
func checkTop(t *testing.T, k rootKind, tags map[string]string, required string) {
	t.Helper()
	tags["TypeMeta"], tags["ObjectMeta"] = ",inline", "metadata,omitempty"
	got := map[string]string{}
	for f := range k.part(t).Fields() {
		got[f.Name] = f.Tag.Get("json")
	}
	if diff := cmp.Diff(tags, got); diff != "" {
		t.Errorf("JSON tags -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{required}, k.schema().Required); diff != "" {
		t.Errorf("required -want +got:\n%s", diff)
	}
}

func topStruct(t *testing.T, k rootKind) {
	checkTop(t, k, map[string]string{"Spec": "spec", "Status": "status,omitempty"}, "spec")
	if s := k.definition.Spec.Versions[0].Subresources; s == nil || s.Status == nil {
		t.Error("no status subresource")
	}
}

// keepsFieldsApart refuses fields of spec and status besides the common ones and those of the provider.
func keepsFieldsApart(t *testing.T, k rootKind) {
	for part, provider := range map[string][]string{"Spec": {"ForProvider", "InitProvider"}, "Status": {"AtProvider"}} {
		for f := range k.part(t, part).Fields() {
			if !f.Anonymous && !slices.Contains(provider, f.Name) {
				t.Errorf("%s has the field %s", part, f.Name)
			}
			if f.Anonymous && !strings.HasPrefix(f.Type.PkgPath(), module+"apis/common/") {
				t.Errorf("%s embeds %s", part, f.Type)
			}
		}
	}
	if got, want := k.part(t, "Status", "AtProvider").Name(), k.gvk.Kind+"Observation"; got != want {
		t.Errorf("atProvider is of type %s, want %s", got, want)
	}
}

// hasConfigScope requires namespaced configurations for namespaced kinds only, beside one for the whole cluster.
func hasConfigScope(t *testing.T, k rootKind) {
	want := k.gvk.Group == "fcp.m.crossplane.io" && k.gvk.Kind == xpv1.ProviderConfigKind
	if k.namespaced() != want {
		t.Errorf("scope %s", k.definition.Spec.Scope)
	}
}

func isConfig(t *testing.T, k rootKind) {
	topStruct(t, k)
	if k.gvk.Kind != xpv1.ProviderConfigKind && k.gvk.Kind != xpv1.ClusterProviderConfigKind {
		t.Errorf("kind %s", k.gvk.Kind)
	}
	if got := k.part(t, "Spec").Name(); got != "ProviderConfigSpec" {
		t.Errorf("spec of type %s", got)
	}
}

// countsUsers requires a count in the status, and no kind of objects that track use.
func countsUsers(t *testing.T, k rootKind) {
	if got := k.schema("status", "users").Type; got != "integer" {
		t.Errorf("status.users is of type %q", got)
	}
	for _, other := range rootKinds[client.Object](t) {
		if strings.HasSuffix(other.gvk.Kind, "Usage") {
			t.Errorf("%s tracks use by objects", other)
		}
	}
}

func isTemplate(t *testing.T, k rootKind) {
	checkTop(t, k, map[string]string{"SpecTemplate": "specTemplate,omitempty"}, "specTemplate")
	embeds[xpv1.ClassSpecTemplate](t, k.part(t, "SpecTemplate"))
	if got := k.part(t, "SpecTemplate").Name(); got != k.gvk.Kind+"SpecTemplate" {
		t.Errorf("the template is of type %s", got)
	}
	if k.definition.Spec.Versions[0].Subresources != nil {
		t.Error("a template has a status")
	}
	for _, key := range []string{"writeConnectionSecretsToNamespace", "providerConfigRef", "reclaimPolicy", "forProvider"} {
		if k.schema("specTemplate", key).Type == "" {
			t.Errorf("specTemplate has no %s", key)
		}
	}
}

func matchesManagedKind(t *testing.T, k rootKind) {
	kinds := rootKinds[resource.Managed](t)
	i := slices.IndexFunc(kinds, func(other rootKind) bool {
		return other.gvk.Kind+"Class" == k.gvk.Kind && other.gvk.GroupVersion() == k.gvk.GroupVersion()
	})
	if i < 0 {
		t.Fatal("no managed kind has the name of the class")
	}
	if k.namespaced() || kinds[i].namespaced() || k.part(t).PkgPath() != kinds[i].part(t).PkgPath() {
		t.Errorf("%s and %s are not cluster-scoped kinds of one package", k, kinds[i])
	}
	f, _ := k.part(t, "SpecTemplate").FieldByName("ForProvider")
	if want := kinds[i].part(t, "Spec", "ForProvider"); f.Type != want || f.Tag.Get("json") != "forProvider" || f.Anonymous {
		t.Errorf("forProvider is a %v with the tag %q, want a %v", f.Type, f.Tag.Get("json"), want)
	}
	if !slices.Contains(k.schema("specTemplate").Required, "forProvider") {
		t.Error("the definition does not require forProvider")
	}
}

func namesClaims(t *testing.T, k rootKind) {
	const databases = "fancysqlinstance.database.crossplane.io,postgresqlinstance.database.crossplane.io"
	got := k.definition.Annotations["bowline.dev/claim-kinds"]
	if k.gvk.Kind == "FavouriteDBInstanceClass" && got != databases {
		t.Errorf("claim kinds %s, want %s", got, databases)
	}
	kinds := strings.Split(got, ",")
	if first := k.definition.Labels["bowline.dev/claim-kind"]; first == "" || first != kinds[0] {
		t.Errorf("label %q, annotation %q", first, kinds)
	}
	core := runtime.NewScheme()
	if err := coreapis.AddToScheme(core); err != nil {
		t.Fatal(err)
	}
	for gvk := range core.AllKnownTypes() {
		name := strings.ToLower(gvk.GroupKind().String())
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == name })
	}
	if len(kinds) > 0 {
		t.Errorf("%v are no kinds of the core", kinds)
	}
}
