// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/apis"
	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	computev1alpha1 "github.com/bowline-dev/bowline/apis/compute/v1alpha1"
	"github.com/bowline-dev/bowline/apis/crds"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	storagev1alpha1 "github.com/bowline-dev/bowline/apis/storage/v1alpha1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestMain(m *testing.M) {
	all, err := crd.Load(crds.FS)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controlplanetest.Main(m, all...))
}

// claimKinds are the portable kinds (9.1), each with its own settings.
func claimKinds() map[schema.GroupVersionKind][]string {
	return map[schema.GroupVersionKind][]string{
		databasev1alpha1.PostgreSQLInstanceGroupVersionKind: {"engineVersion"},
		databasev1alpha1.MySQLInstanceGroupVersionKind:      {"engineVersion"},
		databasev1alpha1.FancySQLInstanceGroupVersionKind:   {"version"},
		cachev1alpha1.RedisClusterGroupVersionKind:          {"engineVersion"},
		storagev1alpha1.BucketGroupVersionKind:              {"localPermission", "name", "predefinedACL"},
		computev1alpha1.KubernetesClusterGroupVersionKind:   {"clusterVersion"},
	}
}

// A claimKind is one of them as Go and as the API server know it.
type claimKind struct {
	gvk        schema.GroupVersionKind
	settings   []string
	object     runtime.Object
	list       runtime.Object
	definition *apiextensionsv1.CustomResourceDefinition
}

// definition returns the definition of a name.
func definition(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crd.Load(crds.FS)
	i := slices.IndexFunc(all, func(d *apiextensionsv1.CustomResourceDefinition) bool { return d.Name == name })
	if err != nil || i < 0 {
		t.Fatalf("there is no definition %s: %v", name, err)
	}
	return all[i]
}

func load(t *testing.T) []claimKind {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var all []claimKind
	for gvk, settings := range claimKinds() {
		k := claimKind{gvk: gvk, settings: settings, definition: definition(t, strings.ToLower(gvk.Kind)+"s."+gvk.Group)}
		var errs [2]error
		k.object, errs[0] = scheme.New(gvk)
		k.list, errs[1] = scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		all = append(all, k)
	}
	return all
}

// schema returns the schema of a property, by its path from the top.
func (k claimKind) schema(path ...string) apiextensionsv1.JSONSchemaProps {
	s := *k.definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, name := range path {
		s = s.Properties[name]
	}
	return s
}

// Rules that hold for every claim kind.
func TestClaimKinds(t *testing.T) {
	t.Parallel()
	for rule, check := range map[string]func(*testing.T, claimKind){
		"the role, and lists of it (K30, A32)":            hasRole,
		"SetBindingPhase is that of the status (K36, A3)": setsPhase,
		"own settings beside the common ones (K37, K38)":  hasSettings,
		"every field is explained (K11, P90)":             isExplained,
		"plural and singular (T26)":                       hasNames,
	} {
		for _, k := range load(t) {
			t.Run(rule+" "+k.gvk.Kind, func(t *testing.T) {
				t.Parallel()
				check(t, k)
			})
		}
	}
}

func hasRole(t *testing.T, k claimKind) {
	if _, ok := k.object.(resource.Claim); !ok {
		t.Errorf("%T is no claim", k.object)
	}
	list, ok := k.list.(resource.ClaimList)
	if !ok {
		t.Fatalf("%T is no list of claims", k.list)
	}
	items := reflect.ValueOf(k.list).Elem().FieldByName("Items")
	items.Set(reflect.MakeSlice(items.Type(), 2, 2))
	list.GetItems()[1].SetName("second")
	if got := items.Index(1).Addr().Interface().(resource.Claim).GetName(); got != "second" {
		t.Errorf("items are copies: %q", got)
	}
}

func setsPhase(t *testing.T, k claimKind) {
	claim := k.object.(resource.Claim)
	claim.SetBindingPhase(xpv1.BindingPhaseBound)
	status := reflect.ValueOf(k.object).Elem().FieldByName("Status").Interface().(xpv1.ResourceClaimStatus)
	if status.BindingPhase != xpv1.BindingPhaseBound || claim.GetBindingPhase() != xpv1.BindingPhaseBound {
		t.Errorf("got %q and %q", status.BindingPhase, claim.GetBindingPhase())
	}
}

// hasSettings wants the keys of the wire contract (9.1) and no others, all of them optional.
func hasSettings(t *testing.T, k claimKind) {
	want := append([]string{"classRef", "classSelector", "resourceRef", "writeConnectionSecretToRef"}, k.settings...)
	slices.Sort(want)
	var got []string
	for name := range k.schema("spec").Properties {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(k.schema("spec").Required) > 0 {
		t.Errorf("required %v, -want +got:\n%s", k.schema("spec").Required, diff)
	}
}

func isExplained(t *testing.T, k claimKind) {
	text := k.schema().Description
	if !strings.Contains(text, "of your own") || !strings.Contains(text, "writeConnectionSecretToRef") {
		t.Errorf("lacks what a claim gets, and where: %q", text)
	}
	for _, part := range []string{"spec", "status"} {
		for name, s := range k.schema(part).Properties {
			if s.Description == "" {
				t.Errorf("%s.%s is not explained", part, name)
			}
		}
	}
}

func hasNames(t *testing.T, k claimKind) {
	n, singular := k.definition.Spec.Names, strings.ToLower(k.gvk.Kind)
	if n.Singular != singular || n.Plural != singular+"s" || n.ListKind != k.gvk.Kind+"List" {
		t.Errorf("got %+v", n)
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	d := definition(t, "kubernetestargets.workload.crossplane.io")
	version := d.Spec.Versions[0]
	t.Run("the core has its kind (K70)", func(t *testing.T) {
		want := schema.GroupVersionKind{Group: "workload.crossplane.io", Version: "v1alpha1", Kind: "KubernetesTarget"}
		s := runtime.NewScheme()
		if err := apis.AddToScheme(s); err != nil || !s.Recognizes(want) || workloadv1alpha1.KubernetesTargetGroupVersionKind != want {
			t.Errorf("got %s, known: %t, %v", workloadv1alpha1.KubernetesTargetGroupVersionKind, s.Recognizes(want), err)
		}
	})
	t.Run("namespaced, and listed with targets (K71)", func(t *testing.T) {
		if d.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("got %s", d.Spec.Scope)
		}
		if diff := cmp.Diff([]string{"target", "targets"}, d.Spec.Names.Categories); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("its managed resource can be asked for (K72, R313)", func(t *testing.T) {
		kind := schema.GroupVersionKind{Group: "a", Version: "v1", Kind: "R"}
		target := &workloadv1alpha1.KubernetesTarget{}
		target.SetResourceReference(&corev1.ObjectReference{APIVersion: "a/v1", Kind: "R", Name: "r"})
		of := resource.HasManagedResourceReferenceKind(resource.ManagedKind(kind))
		other := resource.HasManagedResourceReferenceKind(resource.ManagedKind{Group: "b", Version: "v1", Kind: "R"})
		if !of(target) || other(target) || of(&workloadv1alpha1.KubernetesTarget{}) {
			t.Errorf("of its kind: %t, of another: %t, without: %t", of(target), other(target), of(&workloadv1alpha1.KubernetesTarget{}))
		}
	})
	t.Run("its role, lists of it and its status (K74, A30)", func(t *testing.T) {
		var _ resource.Target = &workloadv1alpha1.KubernetesTarget{}
		list := &workloadv1alpha1.KubernetesTargetList{Items: make([]workloadv1alpha1.KubernetesTarget, 2)}
		var role resource.TargetList = list
		role.GetItems()[1].SetName("second")
		conditions := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]
		if list.Items[1].Name != "second" || version.Subresources == nil || version.Subresources.Status == nil || conditions.Type != "array" {
			t.Errorf("second item %q, subresources %+v, conditions are a %s", list.Items[1].Name, version.Subresources, conditions.Type)
		}
	})
	t.Run("columns (T22)", func(t *testing.T) {
		var got []string
		for _, c := range version.AdditionalPrinterColumns {
			got = append(got, c.Name+" "+c.JSONPath)
		}
		want := []string{"RESOURCE .spec.clusterRef.name", "SECRET .spec.connectionSecretRef.name",
			"READY .status.conditions[?(@.type=='Ready')].status", "AGE .metadata.creationTimestamp"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// What a team asks for.
func Example() {
	claim := databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop"}}
	claim.SetGroupVersionKind(databasev1alpha1.PostgreSQLInstanceGroupVersionKind)
	claim.Spec.EngineVersion = new("15")
	claim.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"size": "small"}}
	claim.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: "orders-database"}
	text, err := yaml.Marshal(claim)
	fmt.Println(string(text), err)
	// Output:
	// apiVersion: database.crossplane.io/v1alpha1
	// kind: PostgreSQLInstance
	// metadata:
	//   name: orders
	//   namespace: shop
	// spec:
	//   classSelector:
	//     matchLabels:
	//       size: small
	//   engineVersion: "15"
	//   writeConnectionSecretToRef:
	//     name: orders-database
	// status: {}
	//  <nil>
}

// A program that works with claims knows their kinds.
func ExampleAddToScheme() {
	scheme := runtime.NewScheme()
	err := apis.AddToScheme(scheme)
	fmt.Println(scheme.Recognizes(databasev1alpha1.MySQLInstanceGroupVersionKind), err)
	// Output: true <nil>
}
