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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// Rules that hold for every managed kind of the provider.
func TestManagedKinds(t *testing.T) {
	t.Parallel()
	kinds := managed(rootKinds(t))
	if len(kinds) == 0 {
		t.Fatal("no managed kind: the rules below would prove nothing")
	}
	for rule, check := range map[string]func(*testing.T, rootKind){
		"K2 status embeds ResourceStatus":   func(t *testing.T, k rootKind) { embeds[xpv1.ResourceStatus](t, k.part(t, "Status")) },
		"K3 spec embeds ResourceSpec":       specEmbeds,
		"K4 forProvider":                    hasForProvider,
		"N1 scope":                          hasMarkedScope,
		"K5 status subresource":             hasStatusSubresource,
		"K7 root objects":                   isRootObject,
		"K8 top struct":                     topStruct,
		"K11 every field is explained":      isExplained,
		"K14 list kind":                     hasList,
		"P30 nothing beside the two":        keepsFieldsApart,
		"P6 acronyms":                       spellsAcronyms,
		"T21 markers":                       obeysMarkers,
		"T26 plural and singular names":     names,
		"K54 its group is below the config": belongsToConfig,
	} {
		for _, k := range kinds {
			t.Run(rule+" "+k.String(), func(t *testing.T) {
				t.Parallel()
				check(t, k)
			})
		}
	}
}

// embeds wants a struct with T inline.
func embeds[T any](t *testing.T, typ reflect.Type) {
	t.Helper()
	want := reflect.TypeFor[T]()
	f, ok := typ.FieldByName(want.Name())
	if !ok || !f.Anonymous || f.Type != want || f.Tag.Get("json") != ",inline" {
		t.Errorf("%s does not embed %s inline", typ, want)
	}
}

func specEmbeds(t *testing.T, k rootKind) {
	if k.namespaced() {
		embeds[xpv1.NamespacedResourceSpec](t, k.part(t, "Spec"))
		return
	}
	embeds[xpv1.ResourceSpec](t, k.part(t, "Spec"))
}

// hasMarkedScope wants the scope that the marker in the source says, and to find kinds of both.
func hasMarkedScope(t *testing.T, k rootKind) {
	if scope := k.definition.Spec.Scope; !hasScope(markersOf(t, k), scope) {
		t.Errorf("no marker says that it is %s", scope)
	}
	if !slices.ContainsFunc(managed(rootKinds(t)), func(other rootKind) bool { return other.namespaced() != k.namespaced() }) {
		t.Error("all kinds have the same scope")
	}
}

func hasForProvider(t *testing.T, k rootKind) {
	f, _ := k.part(t, "Spec").FieldByName("ForProvider")
	if got := f.Tag.Get("json"); got != "forProvider" || f.Anonymous || f.Type.Kind() != reflect.Struct {
		t.Errorf("forProvider is a %v with the tag %q", f.Type, got)
	}
	if want := k.gvk.Kind + "Parameters"; f.Type.Name() != want {
		t.Errorf("forProvider is of type %s, want %s", f.Type.Name(), want)
	}
	if !slices.Contains(k.schema("spec").Required, "forProvider") {
		t.Error("the definition does not require forProvider")
	}
}

func hasStatusSubresource(t *testing.T, k rootKind) {
	for _, v := range k.definition.Spec.Versions {
		if v.Subresources == nil || v.Subresources.Status == nil {
			t.Errorf("version %s has none", v.Name)
		}
	}
}

func isRootObject(t *testing.T, k rootKind) {
	list := reflect.TypeOf(newList(t, k)).Elem()
	for _, typ := range []reflect.Type{k.typ(), list} {
		if !has(declarationOf(t, typ).text, "+kubebuilder:object:root=true") {
			t.Errorf("%s has no marker", typ)
		}
	}
}

func newList(t *testing.T, k rootKind) client.ObjectList {
	t.Helper()
	o, err := newScheme(t).New(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	if err != nil {
		t.Fatal(err)
	}
	list, ok := o.(client.ObjectList)
	if !ok {
		t.Fatalf("%T is no list", o)
	}
	return list
}

func topStruct(t *testing.T, k rootKind) {
	got := map[string]string{}
	for f := range k.typ().Fields() {
		got[f.Name] = f.Tag.Get("json")
	}
	want := map[string]string{"TypeMeta": ",inline", "ObjectMeta": "metadata,omitempty", "Spec": "spec", "Status": "status,omitempty"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON tags -want +got:\n%s", diff)
	}
	if k.part(t, "TypeMeta") != reflect.TypeFor[metav1.TypeMeta]() || k.part(t, "ObjectMeta") != reflect.TypeFor[metav1.ObjectMeta]() {
		t.Error("other metadata than Kubernetes'")
	}
	if diff := cmp.Diff([]string{"spec"}, k.schema().Required); diff != "" {
		t.Errorf("required -want +got:\n%s", diff)
	}
}

// isExplained wants a text of every field in the source, and in what kubectl explain reads.
func isExplained(t *testing.T, k rootKind) {
	for _, part := range []string{"Spec", "Status"} {
		for _, f := range fieldsOf(t, k.part(t, part)) {
			if len(prose(f.comment)) < len("ID of it.") {
				t.Errorf("%s.%s is not explained: %q", part, f, f.comment)
			}
		}
	}
	checkDescribed(t, "spec", k.schema("spec"))
	checkDescribed(t, "status", k.schema("status"))
	if k.schema().Description == "" {
		t.Error("the kind itself is not explained")
	}
}

func hasList(t *testing.T, k rootKind) {
	list := reflect.TypeOf(newList(t, k)).Elem()
	items, ok := list.FieldByName("Items")
	if !ok || items.Tag.Get("json") != "items" || items.Type != reflect.SliceOf(k.typ()) {
		t.Errorf("items of %s: %v with the tag %q", list, items.Type, items.Tag.Get("json"))
	}
	if got, want := k.definition.Spec.Names.ListKind, k.gvk.Kind+"List"; got != want {
		t.Errorf("the definition's list kind is %q, want %q", got, want)
	}
}

// keepsFieldsApart wants nothing in spec and status beside what all kinds have and the provider's two or three fields.
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

// obeysMarkers wants the columns of every kind, and limits as the markers in the source say.
func obeysMarkers(t *testing.T, k rootKind) {
	want := []string{"READY", "SYNCED", "EXTERNAL-NAME", "AGE"}
	for _, v := range k.definition.Spec.Versions {
		var got []string
		for _, c := range v.AdditionalPrinterColumns {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("columns -want +got:\n%s", diff)
		}
	}
	checked := 0
	for _, f := range fieldsOf(t, k.part(t, "Spec", "ForProvider")) {
		for _, limit := range limits() {
			checked += limit.check(t, f, at(k.schema("spec", "forProvider"), f.path))
		}
	}
	if checked == 0 {
		t.Error("no setting has a limit")
	}
}

// at returns the schema of a field below, through lists.
func at(s apiextensionsv1.JSONSchemaProps, path []string) apiextensionsv1.JSONSchemaProps {
	for _, name := range path {
		if s.Items != nil && s.Items.Schema != nil {
			s = *s.Items.Schema
		}
		s = s.Properties[name]
	}
	return s
}

func names(t *testing.T, k rootKind) {
	singular := strings.ToLower(k.gvk.Kind)
	n := k.definition.Spec.Names
	if n.Singular != singular || n.Plural != singular+"s" {
		t.Errorf("singular %q, plural %q, want %q with and without s", n.Singular, n.Plural, singular)
	}
}
