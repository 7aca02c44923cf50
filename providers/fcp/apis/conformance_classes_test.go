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

	coreapis "github.com/bowline-dev/bowline/apis"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// classes returns those that satisfy resource.Class.
func classes(kinds []rootKind) []rootKind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k rootKind) bool {
		_, ok := k.object.(resource.Class)
		return !ok
	})
}

// managedKind returns the kind that a class is named after.
func (k rootKind) managedKind(t *testing.T) rootKind {
	t.Helper()
	for _, other := range managed(rootKinds(t)) {
		if other.gvk.Kind+"Class" == k.gvk.Kind && other.gvk.GroupVersion() == k.gvk.GroupVersion() {
			return other
		}
	}
	t.Fatalf("%s is named after no managed kind", k)
	return rootKind{}
}

// Rules that hold for every class of the provider.
func TestClassKinds(t *testing.T) {
	t.Parallel()
	all := classes(rootKinds(t))
	if len(all) == 0 {
		t.Fatal("no class: the rules below would prove nothing")
	}
	for rule, check := range map[string]func(*testing.T, rootKind){
		"K20 A33 lists of classes":                  listsClasses,
		"K21 K24 specTemplate, no spec, no status":  isTemplate,
		"K22 specTemplate embeds ClassSpecTemplate": func(t *testing.T, k rootKind) { embeds[xpv1.ClassSpecTemplate](t, k.part(t, "SpecTemplate")) },
		"K23 the settings of the managed kind":      hasSettings,
		"K25 N28 cluster-scoped, as is its kind":    isForAll,
		"K26 K29 beside its managed kind":           isBeside,
		"K27 its common keys":                       hasTemplateKeys,
		"N10 its definition names its claim kinds":  namesClaims,
		"K37 these are kinds of the core":           claimsAreCore,
		"K7 classes are root objects":               isRootObject,
		"K14 list kind of classes":                  hasList,
	} {
		for _, k := range all {
			t.Run(rule+" "+k.String(), func(t *testing.T) {
				t.Parallel()
				check(t, k)
			})
		}
	}
}

func listsClasses(t *testing.T, k rootKind) {
	if list, ok := newList(t, k).(resource.ClassList); !ok || len(list.GetItems()) > 0 {
		t.Errorf("%T is no list of classes", newList(t, k))
	}
}

func isTemplate(t *testing.T, k rootKind) {
	got := map[string]string{}
	for f := range k.typ().Fields() {
		got[f.Name] = f.Tag.Get("json")
	}
	want := map[string]string{"TypeMeta": ",inline", "ObjectMeta": "metadata,omitempty", "SpecTemplate": "specTemplate,omitempty"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON tags -want +got:\n%s", diff)
	}
	for _, v := range k.definition.Spec.Versions {
		if v.Subresources != nil {
			t.Errorf("version %s has subresources: %+v", v.Name, v.Subresources)
		}
	}
	if got, want := k.part(t, "SpecTemplate").Name(), k.gvk.Kind+"SpecTemplate"; got != want {
		t.Errorf("the template is of type %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{"specTemplate"}, k.schema().Required); diff != "" {
		t.Errorf("required -want +got:\n%s", diff)
	}
}

func hasSettings(t *testing.T, k rootKind) {
	f, _ := k.part(t, "SpecTemplate").FieldByName("ForProvider")
	if of := k.managedKind(t).part(t, "Spec", "ForProvider"); f.Type != of || f.Tag.Get("json") != "forProvider" || f.Anonymous {
		t.Errorf("forProvider is a %v with the tag %q, that of the managed kind a %v", f.Type, f.Tag.Get("json"), of)
	}
	if !slices.Contains(k.schema("specTemplate").Required, "forProvider") {
		t.Error("the definition does not require forProvider")
	}
}

func isForAll(t *testing.T, k rootKind) {
	for _, kind := range []rootKind{k, k.managedKind(t)} {
		if kind.definition.Spec.Scope != apiextensionsv1.ClusterScoped {
			t.Errorf("%s is %s", kind, kind.definition.Spec.Scope)
		}
	}
}

func isBeside(t *testing.T, k rootKind) {
	if class, of := k.typ().PkgPath(), k.managedKind(t).typ().PkgPath(); class != of {
		t.Errorf("the class is in %s, its managed kind in %s", class, of)
	}
}

// hasTemplateKeys wants the keys of the wire contract (9.1).
func hasTemplateKeys(t *testing.T, k rootKind) {
	for _, key := range []string{"writeConnectionSecretsToNamespace", "providerConfigRef", "reclaimPolicy", "forProvider"} {
		if k.schema("specTemplate", key).Type == "" {
			t.Errorf("there is no %s", key)
		}
	}
	checkDescribed(t, "specTemplate", k.schema("specTemplate"))
}

func namesClaims(t *testing.T, k rootKind) {
	kinds := strings.Split(k.definition.Annotations["bowline.dev/claim-kinds"], ",")
	if first := k.definition.Labels["bowline.dev/claim-kind"]; first == "" || first != kinds[0] {
		t.Errorf("label %q, annotation %q", first, kinds)
	}
}

func claimsAreCore(t *testing.T, k rootKind) {
	scheme := runtime.NewScheme()
	if err := coreapis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	core := map[string]bool{}
	for gvk := range scheme.AllKnownTypes() {
		core[strings.ToLower(gvk.GroupKind().String())] = true
	}
	for kind := range strings.SplitSeq(k.definition.Annotations["bowline.dev/claim-kinds"], ",") {
		if !core[kind] {
			t.Errorf("%s is no kind of the core", kind)
		}
	}
}

func TestDatabaseClass(t *testing.T) {
	t.Parallel()
	t.Run("K29 A70 its kind and version", func(t *testing.T) {
		t.Parallel()
		if got := databasev1alpha3.FavouriteDBInstanceClassGroupVersionKind.String(); got != "database.fcp.crossplane.io/v1alpha3, Kind=FavouriteDBInstanceClass" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("N10 the claim kinds that it satisfies", func(t *testing.T) {
		t.Parallel()
		for _, k := range classes(rootKinds(t)) {
			if k.typ() != reflect.TypeFor[databasev1alpha3.FavouriteDBInstanceClass]() {
				continue
			}
			want := "fancysqlinstance.database.crossplane.io,postgresqlinstance.database.crossplane.io"
			if got := k.definition.Annotations["bowline.dev/claim-kinds"]; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}
