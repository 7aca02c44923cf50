// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// bucket returns a managed resource after change.
func bucket(change func(*unstructured.Managed)) *unstructured.Managed {
	mg := unstructured.New(bucketKind)
	change(mg)
	return mg
}

func TestSetBindable(t *testing.T) {
	t.Parallel()
	orders := &corev1.ObjectReference{Name: "orders"}
	for name, tc := range map[string]struct {
		have, want xpv1.BindingPhase
		claim      *corev1.ObjectReference
	}{
		"unset (A43, K40)":           {want: xpv1.BindingPhaseUnbound},
		"unbindable (K40)":           {have: xpv1.BindingPhaseUnbindable, want: xpv1.BindingPhaseUnbound},
		"unbound (K40)":              {have: xpv1.BindingPhaseUnbound, want: xpv1.BindingPhaseUnbound},
		"asked for by a claim (K40)": {want: xpv1.BindingPhaseUnbound, claim: orders},
		"bound stays (K40)":          {have: xpv1.BindingPhaseBound, want: xpv1.BindingPhaseBound, claim: orders},
		"released stays (N4)":        {have: xpv1.BindingPhaseReleased, want: xpv1.BindingPhaseReleased, claim: orders},
		"released and offered (N4)":  {have: xpv1.BindingPhaseReleased, want: xpv1.BindingPhaseUnbound},
	} {
		t.Run(name, func(t *testing.T) {
			mg := bucket(func(mg *unstructured.Managed) {
				mg.SetBindingPhase(tc.have)
				mg.SetClaimReference(tc.claim)
			})
			resource.SetBindable(mg)
			if got := mg.GetBindingPhase(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMayDeleteExternal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policies xpv1.ManagementPolicies
		deletion xpv1.DeletionPolicy
		reclaim  xpv1.ReclaimPolicy
		want     bool
	}{
		"no policy (N3, R56)":               {want: true},
		"all permit it (N3, R56)":           {xpv1.ManagementPolicies{"*"}, "Delete", "Delete", true},
		"deletion policy (N3, R56)":         {xpv1.ManagementPolicies{"*"}, "Orphan", "Delete", false},
		"reclaim policy (N3, R56)":          {xpv1.ManagementPolicies{"*"}, "Delete", "Retain", false},
		"management policy (N3, R56, R111)": {xpv1.ManagementPolicies{"Observe", "Create"}, "Delete", "Delete", false},
		"action Delete (N3, R56, R111)":     {xpv1.ManagementPolicies{"Observe", "Delete"}, "", "", true},
		"paused (N3, R56)":                  {xpv1.ManagementPolicies{}, "Delete", "Delete", false},
	} {
		t.Run(name, func(t *testing.T) {
			mg := bucket(func(mg *unstructured.Managed) {
				mg.SetManagementPolicies(tc.policies)
				mg.SetDeletionPolicy(tc.deletion)
				mg.SetReclaimPolicy(tc.reclaim)
			})
			if got := resource.MayDeleteExternal(mg); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestProviderConfig(t *testing.T) {
	t.Parallel()
	type config struct{ kind, name string }
	for name, tc := range map[string]struct {
		mg   client.Object
		want config
	}{
		"none named (R228, N2)": {bucket(func(*unstructured.Managed) {}), config{"ProviderConfig", "default"}},
		"none named, in a namespace (R228, N2)": {
			bucket(func(mg *unstructured.Managed) { mg.SetNamespace("shop") }), config{"ClusterProviderConfig", "default"}},
		"one named (R227)": {uses("", "", "team"), config{"ProviderConfig", "team"}},
		"a cluster-scoped object uses a ProviderConfig (R227, N2)": {
			uses("", "ClusterProviderConfig", "team"), config{"ProviderConfig", "team"}},
		"one named in a namespace, no kind (R227, N2)": {uses("shop", "", "team"), config{"ClusterProviderConfig", "team"}},
		"one named in a namespace, a kind (R227, N2)":  {uses("shop", "ProviderConfig", "team"), config{"ProviderConfig", "team"}},
		"a kind without that role (R228)":              {&corev1.ConfigMap{}, config{"ProviderConfig", "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (config{resource.ProviderConfigKind(tc.mg), resource.ProviderConfigName(tc.mg)}); got != tc.want {
				t.Errorf("uses %+v, want %+v", got, tc.want)
			}
		})
	}
}

// uses returns a managed resource that names its provider configuration.
func uses(namespace, kind, name string) *unstructured.Managed {
	return bucket(func(mg *unstructured.Managed) {
		mg.SetNamespace(namespace)
		mg.SetProviderConfigReference(&xpv1.ProviderConfigReference{Kind: kind, Name: name})
	})
}

func TestConnectionSecretReference(t *testing.T) {
	t.Parallel()
	inA, inShop := &xpv1.SecretReference{Namespace: "a", Name: "b"}, &xpv1.SecretReference{Namespace: "shop", Name: "b"}
	for name, tc := range map[string]struct {
		mg   client.Object
		want *xpv1.SecretReference
	}{
		"none (R210)":                     {mg: bucket(func(*unstructured.Managed) {})},
		"an empty one (R210)":             {mg: publishes("", xpv1.SecretReference{})},
		"empty, in a namespace (R210)":    {mg: publishes("shop", xpv1.SecretReference{})},
		"where it is set (R209)":          {mg: publishes("", xpv1.SecretReference{Namespace: "a", Name: "b"}), want: inA},
		"by name only (R209, N2)":         {mg: publishes("shop", xpv1.SecretReference{Name: "b"}), want: inShop},
		"never in another namespace (N2)": {mg: publishes("shop", xpv1.SecretReference{Namespace: "a", Name: "b"}), want: inShop},
		"a kind without that role (R210)": {mg: &corev1.ConfigMap{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := resource.ConnectionSecretReference(tc.mg)
			if ok != (tc.want != nil) {
				t.Fatalf("got %+v, %t; want %+v", got, ok, tc.want)
			}
			if tc.want != nil && got != *tc.want {
				t.Errorf("got %+v, want %+v", got, *tc.want)
			}
		})
	}
}

// publishes returns a managed resource that names its connection secret.
func publishes(namespace string, ref xpv1.SecretReference) *unstructured.Managed {
	return bucket(func(mg *unstructured.Managed) {
		mg.SetNamespace(namespace)
		mg.SetWriteConnectionSecretToReference(&ref)
	})
}

func TestIgnore(t *testing.T) {
	t.Parallel()
	absent, boom := errors.New("absent"), errors.New("boom")
	is := func(target error) resource.ErrorIs { return func(err error) bool { return errors.Is(err, target) } }
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "buckets"}, "orders")
	for name, tc := range map[string]struct{ got, want error }{
		"nil (A44, R321)":                           {got: resource.Ignore(is(absent), nil)},
		"of the kind (A44, R321)":                   {got: resource.Ignore(is(absent), fmt.Errorf("looking: %w", absent))},
		"another kind (A44, R321)":                  {got: resource.Ignore(is(absent), boom), want: boom},
		"a function of another package (A44, R321)": {got: resource.Ignore(apierrors.IsNotFound, missing)},
		"not found":                                 {got: resource.IgnoreNotFound(fmt.Errorf("reading: %w", missing))},
		"not found: something else":                 {got: resource.IgnoreNotFound(boom), want: boom},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got %v, want %v", tc.got, tc.want)
			}
		})
	}
}

func TestGetKind(t *testing.T) {
	t.Parallel()
	scheme := newScheme(t)
	twice := schema.GroupVersion{Group: "example.org", Version: "v1"}
	scheme.AddKnownTypeWithName(twice.WithKind("One"), &corev1.Node{})
	scheme.AddUnversionedTypes(twice, &metav1.APIGroup{})
	for name, tc := range map[string]struct {
		obj  runtime.Object
		want schema.GroupVersionKind
		err  string
	}{
		"a typed object":              {obj: &corev1.Secret{}, want: secretKind},
		"an object without a type":    {obj: unstructured.New(bucketKind), want: bucketKind},
		"nil (R320)":                  {err: "there is no object"},
		"a foreign type (R320)":       {obj: &foreign{}, err: "no kind"},
		"a type of several kinds":     {obj: &corev1.Node{}, err: "2 kinds"},
		"a type without a version":    {obj: &metav1.APIGroup{}, err: "no version"},
		"an empty object (R320)":      {obj: &unstructured.Managed{}, err: "finding the kind"},
		"a nil pointer of one (R320)": {obj: (*unstructured.Managed)(nil), err: "there is no object"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := resource.GetKind(tc.obj, scheme)
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %s, %v; want %s, an error with %q", got, err, tc.want, tc.err)
			}
		})
	}
}

func TestMustCreateObject(t *testing.T) {
	t.Parallel()
	scheme := newScheme(t)
	if _, ok := resource.MustCreateObject(secretKind, scheme).(*corev1.Secret); !ok {
		t.Error("not a Secret")
	}
	if !didPanic(func() { resource.MustCreateObject(bucketKind, scheme) }) {
		t.Error("created an object of an unregistered kind")
	}
}

func didPanic(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return did
}

// What holds for every managed resource needs no kind.
func Example() {
	report := func(mg resource.Managed) {
		fmt.Printf("uses %s %q\n", resource.ProviderConfigKind(mg), resource.ProviderConfigName(mg))
		fmt.Println("deleted with the object:", resource.MayDeleteExternal(mg))
	}
	mg := unstructured.New(schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"})
	mg.SetReclaimPolicy(xpv1.ReclaimRetain)
	report(mg)
	// Output:
	// uses ProviderConfig "default"
	// deleted with the object: false
}

// A controller that cares for the Secrets of buckets only.
func ExampleNewPredicates() {
	bucket := schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"}
	ofBuckets := resource.NewPredicates(resource.IsControlledByKind(bucket))
	fmt.Println(ofBuckets.Create(event.CreateEvent{Object: unstructured.New(bucket)}))
	// Output: false
}
