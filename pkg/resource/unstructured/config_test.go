// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

var configKind = schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "ProviderConfig"}

// A configuration without a Go type has in the API exactly what one with a type has.
func TestProviderConfig(t *testing.T) {
	t.Parallel()
	paused := []xpv1.PausedNamespace{{Namespace: "shop", Since: metav1.NewTime(time.Unix(7, 0))}}
	status := xpv1.ProviderConfigStatus{Users: 3, PausedDeletions: paused}
	status.SetConditions(xpv1.Available())
	want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		t.Fatal(err)
	}
	c := unstructured.NewProviderConfig(configKind)
	c.SetUsers(status.Users)
	c.SetPausedDeletions(status.PausedDeletions)
	c.SetConditions(status.Conditions...)
	if diff := cmp.Diff(want, c.Object["status"]); diff != "" {
		t.Errorf("written -want +got:\n%s", diff)
	}
	got := xpv1.ProviderConfigStatus{Users: c.GetUsers(), PausedDeletions: c.GetPausedDeletions()}
	got.SetConditions(c.GetCondition(xpv1.TypeReady))
	if back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&got); err != nil || !cmp.Equal(want, back) {
		t.Errorf("read %v, error %v", back, err)
	}
	kept := c.DeepCopyObject().(*unstructured.ProviderConfig)
	c.SetUsers(0)
	c.SetPausedDeletions([]xpv1.PausedNamespace{})
	c.SetConditions()
	if diff := cmp.Diff(map[string]any{"conditions": want["conditions"]}, c.Object["status"]); diff != "" {
		t.Errorf("unset -want +got:\n%s", diff)
	}
	if kept.GetUsers() != 3 || kept.GroupVersionKind() != configKind || c.NewEmptyInstance().GetObjectKind().GroupVersionKind() != configKind {
		t.Errorf("the copy is %v", kept.Object)
	}
	c.Object["status"] = map[string]any{"users": "many", "pausedDeletions": "all", "conditions": "good"}
	if c.GetUsers() != 0 || c.GetPausedDeletions() != nil || c.GetCondition(xpv1.TypeReady).Status != corev1.ConditionUnknown {
		t.Errorf("a status of other types reads as set: %v", c.Object)
	}
}

// bucket is a type that a bridge may have.
type bucket struct{ *unstructured.Managed }

// Caches hold plain objects, which code reads in the form that it needs.
func TestForms(t *testing.T) {
	t.Parallel()
	mg := unstructured.New(bucketKind)
	secret := &corev1.Secret{}
	for name, tc := range map[string]struct{ o, want client.Object }{
		"managed resource":      {mg, &mg.Unstructured},
		"a type that embeds it": {bucket{mg}, &mg.Unstructured},
		"plain":                 {mg.GetUnstructured(), &mg.Unstructured},
		"with a Go type":        {secret, secret},
	} {
		if got := unstructured.Plain(tc.o); got != tc.want {
			t.Errorf("%s: got %T", name, got)
		}
	}
	plain := &kube.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "one"}}}
	if as, ok := unstructured.As[resource.Managed](plain); !ok || as.GetName() != "one" {
		t.Errorf("as a managed resource: %v", as)
	}
	if as, ok := unstructured.As[resource.ProviderConfig](plain); !ok || as.GetName() != "one" {
		t.Errorf("as a configuration: %v", as)
	}
	if as, ok := unstructured.As[client.Object](secret); !ok || as != secret {
		t.Errorf("with a Go type: %v", as)
	}
	if as, ok := unstructured.As[resource.Claim](plain); ok {
		t.Errorf("as a claim: %v", as)
	}
}

// The scheme decides whether a kind has a Go type.
func TestExample(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if got, ok := unstructured.Example(scheme, corev1.SchemeGroupVersion.WithKind("Secret")).(*corev1.Secret); !ok {
		t.Errorf("got %T", got)
	}
	if got := unstructured.Example(scheme, bucketKind); got.GetObjectKind().GroupVersionKind() != bucketKind {
		t.Errorf("got %T %v", got, got)
	}
}
