// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

var (
	bucketKind = schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"}
	secretKind = corev1.SchemeGroupVersion.WithKind("Secret")
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestNewPredicates(t *testing.T) {
	t.Parallel()
	wanted, other := named("wanted"), named("other")
	p := resource.NewPredicates(func(obj runtime.Object) bool { return obj.(metav1.Object).GetName() == "wanted" })
	var none *corev1.ConfigMap
	for name, tc := range map[string]struct{ got, want bool }{
		"create (A35, R307)":                      {p.Create(event.CreateEvent{Object: wanted}), true},
		"create of another (R307)":                {p.Create(event.CreateEvent{Object: other}), false},
		"update: the new object counts (R307)":    {p.Update(event.UpdateEvent{ObjectOld: other, ObjectNew: wanted}), true},
		"update: the old object does not (R307)":  {p.Update(event.UpdateEvent{ObjectOld: wanted, ObjectNew: other}), false},
		"delete (R307)":                           {p.Delete(event.DeleteEvent{Object: wanted}), true},
		"delete of another (R307)":                {p.Delete(event.DeleteEvent{Object: other}), false},
		"generic (R307)":                          {p.Generic(event.GenericEvent{Object: wanted}), true},
		"generic of another (R307)":               {p.Generic(event.GenericEvent{Object: other}), false},
		"an event without an object (R320)":       {p.Create(event.CreateEvent{}), false},
		"an update without a new object (R320)":   {p.Update(event.UpdateEvent{ObjectOld: wanted}), false},
		"a generic event of a nil pointer (R320)": {p.Generic(event.GenericEvent{Object: none}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("interested: %t, want %t", tc.got, tc.want)
			}
		})
	}
}

func named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

type predicateCase struct {
	fn   resource.PredicateFn
	obj  runtime.Object
	want bool
}

func checkPredicates(t *testing.T, cases map[string]predicateCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.fn(tc.obj); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestPredicateFns(t *testing.T) {
	t.Parallel()
	yes, no := func(runtime.Object) bool { return true }, func(runtime.Object) bool { return false }
	scheme, all, some := newScheme(t), resource.AllOf, resource.AnyOf
	isSecret := resource.IsManagedKind(resource.ManagedKind(secretKind), scheme)
	isBucket := resource.IsManagedKind(resource.ManagedKind(bucketKind), scheme)
	byBucket := resource.IsControlledByKind(bucketKind)
	var none *corev1.Secret
	checkPredicates(t, map[string]predicateCase{
		"all of none (A36, R308)":                      {fn: all(), want: true},
		"all of true (R308)":                           {fn: all(yes, yes), want: true},
		"all of true and false (R308)":                 {fn: all(yes, no), want: false},
		"any of none (A36, R308)":                      {fn: some(), want: false},
		"any of false and true (R308)":                 {fn: some(no, yes), want: true},
		"any of false (R308)":                          {fn: some(no, no), want: false},
		"nested (R308)":                                {fn: all(some(no, yes), some(all(yes, no), all())), want: true},
		"typed, without a kind of its own (A39, R314)": {fn: isSecret, obj: &corev1.Secret{}, want: true},
		"typed, of another kind (R314)":                {fn: isSecret, obj: &corev1.ConfigMap{}, want: false},
		"a kind that has no type (R314)":               {fn: isBucket, obj: unstructured.New(bucketKind), want: true},
		"another version (R314)": {
			fn: isBucket, obj: unstructured.New(bucketKind.GroupKind().WithVersion("v2")), want: false},
		"kind of nil (R320)":                     {fn: isSecret, want: false},
		"kind of a nil pointer (R320)":           {fn: isSecret, obj: none, want: false},
		"kind of a foreign type (R320)":          {fn: isSecret, obj: &foreign{}, want: false},
		"controlled by the kind (A40, R315)":     {fn: byBucket, obj: owned("storage.example.org/v1", "Bucket", true), want: true},
		"owned, not controlled (R315)":           {fn: byBucket, obj: owned("storage.example.org/v1", "Bucket", false), want: false},
		"controlled by another kind (R315)":      {fn: byBucket, obj: owned("storage.example.org/v1", "Topic", true), want: false},
		"controlled by another version (R315)":   {fn: byBucket, obj: owned("storage.example.org/v2", "Bucket", true), want: false},
		"controlled by another group (R315)":     {fn: byBucket, obj: owned("example.org/v1", "Bucket", true), want: false},
		"controlled by nobody (R315)":            {fn: byBucket, obj: &corev1.Secret{}, want: false},
		"controller of nil (R320)":               {fn: byBucket, want: false},
		"controller of a nil pointer (R320)":     {fn: byBucket, obj: none, want: false},
		"controller of a foreign type (R320)":    {fn: byBucket, obj: &foreign{}, want: false},
		"controller of no proper version (R320)": {fn: byBucket, obj: owned("a/b/c", "Bucket", true), want: false},
	})
}

// owned returns a Secret with an owner.
func owned(apiVersion, kind string, controlled bool) *corev1.Secret {
	ref := metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "uid", Controller: &controlled}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ref}}}
}

// foreign is an object without metadata that no scheme knows.
type foreign struct{}

func (*foreign) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (*foreign) DeepCopyObject() runtime.Object   { return &foreign{} }

func TestAPIOfPredicates(t *testing.T) {
	t.Parallel()
	t.Run("as the documents call them (A35, A36, A39, A40)", func(t *testing.T) {
		var p predicate.Funcs = resource.NewPredicates(resource.AnyOf(
			resource.AllOf(resource.IsManagedKind(resource.ManagedKind(bucketKind), newScheme(t))),
			resource.IsControlledByKind(bucketKind),
		))
		for _, obj := range []client.Object{unstructured.New(bucketKind), owned("storage.example.org/v1", "Bucket", true)} {
			if !p.Create(event.CreateEvent{Object: obj}) {
				t.Errorf("not interested in %T", obj)
			}
		}
		if p.Create(event.CreateEvent{Object: &kube.Unstructured{}}) {
			t.Error("interested in an object of no kind")
		}
	})
}
