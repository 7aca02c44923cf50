// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"fmt"
	"os"
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
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis"
	"github.com/bowline-dev/bowline/providers/fcp/apis/crds"
)

func TestMain(m *testing.M) {
	all, err := crd.Load(crds.FS)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controlplanetest.Main(m, all...))
}

// A rootKind is a kind of the provider with its Go type and its definition.
type rootKind struct {
	schema.GroupVersionKind
	object     client.Object // empty
	definition *apiextensionsv1.CustomResourceDefinition
}

// rootKinds returns the kinds whose objects implement R.
func rootKinds[R any](t *testing.T) []rootKind {
	t.Helper()
	definitions, err := crd.Load(crds.FS)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []rootKind
	for _, d := range definitions {
		gvk := schema.GroupVersionKind{Group: d.Spec.Group, Version: d.Spec.Versions[0].Name, Kind: d.Spec.Names.Kind}
		if o, ok := newObject(t, gvk).(R); ok {
			kinds = append(kinds, rootKind{gvk, any(o).(client.Object), d})
		}
	}
	return kinds
}

func newObject(t *testing.T, gvk schema.GroupVersionKind) runtime.Object {
	t.Helper()
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	o, err := s.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (k rootKind) namespaced() bool {
	return k.definition.Spec.Scope == apiextensionsv1.NamespaceScoped
}

// part returns the type of a field, by the names of fields from the top.
func (k rootKind) part(path ...string) reflect.Type {
	typ := reflect.TypeOf(k.object).Elem()
	for _, name := range path {
		f, _ := typ.FieldByName(name)
		typ = f.Type
	}
	return typ
}

// fields returns the types and JSON tags of the fields of a struct, without the packages of this provider.
func fields(typ reflect.Type) map[string]string {
	all := map[string]string{}
	for f := range typ.Fields() {
		all[f.Name] = strings.ReplaceAll(f.Type.String(), "v1alpha3.", "") + " " + f.Tag.Get("json")
	}
	return all
}

// A shape is what all kinds of a role have in common.
type shape struct {
	Top, Spec, Status              map[string]string // fields, as returned by fields
	Items                          string            // of the list kind
	Names, Columns, Required       []string
	ProviderConfig                 string // group of the configuration
	HasStatusSubresource, Describe bool
}

func shapeOf(t *testing.T, k rootKind) shape {
	d, v := k.definition, k.definition.Spec.Versions[0]
	spec := "spec"
	got := shape{
		Top:            fields(k.part()),
		Items:          fields(reflect.TypeOf(newObject(t, k.GroupVersion().WithKind(k.Kind+"List"))).Elem())["Items"],
		Names:          append([]string{d.Spec.Names.Singular, d.Spec.Names.Plural, d.Spec.Names.ListKind}, d.Spec.Names.Categories...),
		ProviderConfig: d.Labels["bowline.dev/provider-config"], HasStatusSubresource: v.Subresources != nil && v.Subresources.Status != nil,
		Describe: v.Schema.OpenAPIV3Schema.Description != "",
	}
	if _, ok := k.object.(resource.Class); ok {
		spec, got.Spec = "specTemplate", fields(k.part("SpecTemplate"))
	} else {
		got.Spec, got.Status = fields(k.part("Spec")), fields(k.part("Status"))
	}
	got.Required = append(slices.Clone(v.Schema.OpenAPIV3Schema.Required), v.Schema.OpenAPIV3Schema.Properties[spec].Required...)
	for _, c := range v.AdditionalPrinterColumns {
		got.Columns = append(got.Columns, c.Name)
	}
	return got
}

// wantShape returns the shape of a kind by its role, its name and its scope.
func wantShape(k rootKind) shape {
	singular := strings.ToLower(k.Kind)
	plural := singular + "s"
	if strings.HasSuffix(singular, "s") {
		plural = singular + "es"
	}
	names := []string{singular, plural, k.Kind + "List"}
	w := shape{
		Top: map[string]string{
			"TypeMeta": "v1.TypeMeta ,inline", "ObjectMeta": "v1.ObjectMeta metadata,omitempty",
			"Spec": k.Kind + "Spec spec", "Status": k.Kind + "Status status,omitempty",
		},
		Items: "[]" + k.Kind + " items", HasStatusSubresource: true, Describe: true,
	}
	scope := "cluster" // begins the categories of cluster-scoped kinds (N39)
	if k.namespaced() {
		scope = ""
	}
	switch k.object.(type) {
	case resource.Managed:
		w.Names, w.ProviderConfig = append(names, scope+"crossplane", scope+"managed", scope+"fcp"), "fcp.crossplane.io"
		common := "ResourceSpec"
		w.Columns = []string{"READY", "SYNCED", "EXTERNAL-NAME", "AGE", "PHASE", "CLAIM-NAMESPACE", "CLAIM"}
		if k.namespaced() {
			w.Columns = w.Columns[:4] // no claim can be bound to it
			w.ProviderConfig, common = "fcp.m.crossplane.io", "NamespacedResourceSpec"
		}
		w.Required = []string{"spec", "forProvider"}
		w.Spec = map[string]string{
			common: "v1." + common + " ,inline", "ForProvider": k.Kind + "Parameters forProvider",
			"InitProvider": k.Kind + "InitParameters initProvider,omitzero",
		}
		w.Status = map[string]string{
			"ResourceStatus": "v1.ResourceStatus ,inline", "AtProvider": k.Kind + "Observation atProvider,omitempty",
		}
	case resource.ProviderConfig:
		w.Top["Spec"], w.Top["Status"] = "ProviderConfigSpec spec", "v1.ProviderConfigStatus status,omitempty"
		w.Names, w.Columns = append(names, scope+"crossplane", scope+"provider", scope+"fcp"), []string{"READY", "PROJECT", "ENDPOINT", "USERS", "SECRET", "AGE"}
		w.Required = []string{"spec", "credentials", "projectID"}
		w.Spec = map[string]string{"ProviderSpec": "v1.ProviderSpec ,inline", "Endpoint": "string endpoint,omitempty", "ProjectID": "string projectID"}
		w.Status = fields(reflect.TypeFor[xpv1.ProviderConfigStatus]())
	case resource.Class:
		of := strings.TrimSuffix(k.Kind, "Class")
		w.Top["SpecTemplate"], w.Top["Status"] = k.Kind+"SpecTemplate specTemplate,omitempty", "v1.ClassStatus status,omitzero"
		delete(w.Top, "Spec")
		w.Names, w.Columns = append(names, "class", "classes"), []string{"READY", "REASON", "PROVIDER-CONFIG", "RECLAIM-POLICY", "MAX", "DEFAULT", "AGE"}
		w.Required = []string{"specTemplate", "forProvider", "writeConnectionSecretsToNamespace"}
		w.Spec = map[string]string{"ClassSpecTemplate": "v1.ClassSpecTemplate ,inline", "ForProvider": of + "Parameters forProvider"}
	}
	return w
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for role, kinds := range map[string][]rootKind{
		"managed kind (A33 A70 A72 K1 K2 K3 K4 K5 K8 K11 K12 K14 N29 P30 T21 T22 T26)": rootKinds[resource.Managed](t),
		"configuration (A70 A72 K5 K8 K51 K52 N12 D10)":                                rootKinds[resource.ProviderConfig](t),
		"class (K20 K21 K22 K23 K25 K26 K27 K29 N28 N58 T21 T22)":                      rootKinds[resource.Class](t),
	} {
		for _, k := range kinds {
			t.Run(k.Kind+" of "+k.Group+" is a "+role, func(t *testing.T) {
				t.Parallel()
				if diff := cmp.Diff(wantShape(k), shapeOf(t, k)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	managed, configs, classes := rootKinds[resource.Managed](t), rootKinds[resource.ProviderConfig](t), rootKinds[resource.Class](t)
	if all := rootKinds[client.Object](t); len(managed) != 7 || len(configs) != 3 || len(classes) != 3 || len(all) != 13 {
		t.Errorf("%d managed kinds, %d configurations, %d classes of %d kinds (N1)", len(managed), len(configs), len(classes), len(all))
	}
	for _, k := range managed {
		_, all := k.object.(interface {
			resource.ConnectionSecretWriterTo
			resource.ProviderConfigReferencer
			resource.Orphanable
			resource.Bindable
			resource.Drifting
			resource.SecretInputRecorder
		})
		_, claimable := k.object.(interface {
			resource.Reclaimer
			resource.ClaimReferencer
			resource.ClassReferencer
		})
		if !all || claimable == k.namespaced() {
			t.Errorf("%s of %s: has the common roles: %t; those of claims: %t, in scope %s", k.Kind, k.Group, all, claimable, k.definition.Spec.Scope)
		}
	}
	for _, k := range configs {
		t.Run("scope of "+k.Kind+" of "+k.Group+" (K53 N2)", func(t *testing.T) {
			if want := k.Group == "fcp.m.crossplane.io" && k.Kind == xpv1.ProviderConfigKind; k.namespaced() != want {
				t.Errorf("scope %s", k.definition.Spec.Scope)
			}
		})
	}
	core := runtime.NewScheme()
	if err := coreapis.AddToScheme(core); err != nil {
		t.Fatal(err)
	}
	for _, k := range classes {
		t.Run("claim kinds of "+k.Kind+" are those of the core (N10 K37)", func(t *testing.T) {
			kinds := strings.Split(k.definition.Annotations["bowline.dev/claim-kinds"], ",")
			if first := k.definition.Labels["bowline.dev/claim-kind"]; first == "" || first != kinds[0] {
				t.Errorf("label %q, annotation %q", first, kinds)
			}
			for gvk := range core.AllKnownTypes() {
				kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == strings.ToLower(gvk.GroupKind().String()) })
			}
			if len(kinds) > 0 {
				t.Errorf("%v are no kinds of the core", kinds)
			}
		})
	}
}

func TestDeepCopy(t *testing.T) {
	t.Parallel()
	for _, k := range rootKinds[client.Object](t) {
		t.Run(k.Kind+" of "+k.Group+" (T23)", func(t *testing.T) {
			t.Parallel()
			fill(reflect.ValueOf(k.object).Elem())
			copied, before := k.object.DeepCopyObject(), cmp.Diff(nil, k.object)
			overwrite(reflect.ValueOf(copied).Elem())
			if cmp.Equal(k.object, copied) || cmp.Diff(nil, k.object) != before {
				t.Error("the copy shares memory with the original")
			}
		})
	}
}

// fill sets every exported field below to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				fill(f)
			}
		}
	}
}

// overwrite changes all maps, lists and pointers below in their place.
func overwrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		overwrite(v.Elem())
	case reflect.Slice:
		overwrite(v.Index(0))
	case reflect.Map:
		v.Clear()
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				overwrite(f)
			}
		}
	case reflect.String:
		v.SetString("changed")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		if v.CanInt() {
			v.SetInt(v.Int() + 1)
		}
	}
}
