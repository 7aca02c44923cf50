// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

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
				t.Errorf("got %s, %v; want %s, an error that says %q", got, err, tc.want, tc.err)
			}
			if panics := didPanic(func() { resource.MustGetKind(tc.obj, scheme) }); panics != (err != nil) {
				t.Errorf("MustGetKind panics: %t, GetKind returns %v", panics, err)
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
		t.Error("made an object of a kind that nobody registered")
	}
}

func didPanic(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return did
}

func TestAPIOfKinds(t *testing.T) {
	t.Parallel()
	t.Run("kinds convert from a GroupVersionKind (A34)", func(t *testing.T) {
		back := []schema.GroupVersionKind{
			schema.GroupVersionKind(resource.ManagedKind(bucketKind)),
			schema.GroupVersionKind(resource.ClaimKind(bucketKind)),
			schema.GroupVersionKind(resource.ClassKind(bucketKind)),
			schema.GroupVersionKind(resource.TargetKind(bucketKind)),
		}
		for _, kind := range back {
			if kind != bucketKind {
				t.Errorf("became %s", kind)
			}
		}
	})
}
