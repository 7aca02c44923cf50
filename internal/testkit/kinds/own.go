// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// label marks the objects of one test among those of others on a shared API server.
const label = "test.bowline.dev/owner"

// Own creates the objects of one test, which controllers select by Labels.
type Own struct {
	t      testing.TB
	client client.Client
	Labels labels.Set
}

// NewOwn returns the objects of a test with a namespace of its own. Secrets and objects of the groups are deleted when the test
// ends, whatever their finalizers.
func (g Groups) NewOwn(t testing.TB, c client.Client, namespace string) *Own {
	o := &Own{t: t, client: c, Labels: labels.Set{label: namespace}}
	t.Cleanup(func() {
		all := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Secret")}
		for _, d := range g.Definitions() {
			all = append(all, schema.GroupVersionKind{Group: d.Spec.Group, Version: "v1", Kind: d.Spec.Names.Kind})
		}
		for _, kind := range all {
			o.deleteAll(kind)
		}
	})
	return o
}

func (o *Own) deleteAll(kind schema.GroupVersionKind) {
	ctx, list := context.Background(), &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := o.client.List(ctx, list, client.MatchingLabels(o.Labels)); err != nil {
		o.t.Error(err)
	}
	for i := range list.Items {
		Release(ctx, o.client, &list.Items[i])
		_ = o.client.Delete(ctx, &list.Items[i])
	}
}

// Release removes the finalizers of an object.
func Release(ctx context.Context, c client.Client, object client.Object) {
	_ = c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
}

// Meta is the metadata of an object of this test.
func (o *Own) Meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: maps.Clone(o.Labels)}
}

// Create creates objects.
func (o *Own) Create(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		if err := o.client.Create(o.t.Context(), object); err != nil {
			o.t.Fatal(err)
		}
	}
}

// Delete deletes objects.
func (o *Own) Delete(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		if err := o.client.Delete(o.t.Context(), object); err != nil {
			o.t.Fatal(err)
		}
	}
}

// Change patches the latest state of an object.
func (o *Own) Change(object client.Object, change func()) {
	o.t.Helper()
	if err := o.client.Get(o.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		o.t.Fatal(err)
	}
	before := object.DeepCopyObject().(client.Object)
	change()
	if err := o.client.Patch(o.t.Context(), object, client.MergeFrom(before)); err != nil {
		o.t.Fatal(err)
	}
}
