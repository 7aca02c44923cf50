// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/meta"
)

func TestIsPaused(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "True": false, "1": false, "false": false, "": false, " true": false} {
		o := &metav1.ObjectMeta{Annotations: map[string]string{meta.AnnotationKeyReconciliationPaused: value}}
		if got := meta.IsPaused(o); got != want {
			t.Errorf("R97 %q pauses: %t, want %t", value, got, want)
		}
	}
}

func TestFinalizer(t *testing.T) {
	o := &metav1.ObjectMeta{Finalizers: []string{"theirs"}}
	shared := o.Finalizers
	meta.AddFinalizer(o, "ours")
	meta.AddFinalizer(o, "ours")
	if diff := cmp.Diff([]string{"theirs", "ours"}, o.Finalizers); diff != "" {
		t.Errorf("added once -want +got:\n%s", diff)
	}
	meta.RemoveFinalizer(o, "ours")
	if diff := cmp.Diff([]string{"theirs"}, o.Finalizers); diff != "" || meta.FinalizerExists(o, "ours") {
		t.Errorf("removed -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"theirs"}, shared); diff != "" {
		t.Errorf("a cached object's slice must stay as it is -want +got:\n%s", diff)
	}
}

func TestExternalLabels(t *testing.T) {
	o := &metav1.ObjectMeta{Name: "orders", UID: "uid"}
	want := map[string]string{
		"crossplane-kind": "bucket.storage.example.org", "crossplane-name": "orders", "crossplane-provider": "default", "bowline-uid": "uid",
	}
	got := meta.GetExternalLabels(o, schema.GroupKind{Group: "storage.example.org", Kind: "Bucket"}, "default")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("P10 P11 P12 N23 -want +got:\n%s", diff)
	}
}
