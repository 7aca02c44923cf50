// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDeletionWaitsAcrossRestart restarts a server while a namespace and an owner wait for the deletion of custom objects. To a controller
// that starts before discovery lists their kind, there are none.
func TestDeletionWaitsAcrossRestart(t *testing.T) {
	dir := t.TempDir()
	first := newServer(t, Config{DataDir: dir})
	stop := run(t, first)
	c := newClient(t, first.RESTConfig())
	define(t, c, gadgets("Held"))
	neverServed(t, c, "Held")
	finishDeletions(t, c, "earlier")

	namespace(t, c, "held")
	content := held(t, c, "held", "content")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "held"}}
	must(t, c.Delete(t.Context(), ns))
	owner := secret(t, c, "owner")
	dependent := held(t, c, "default", "dependent", owner)
	must(t, c.Delete(t.Context(), owner, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	for _, o := range []*unstructured.Unstructured{content, dependent} {
		eventually(t, o.GetName()+" is being deleted", func(ctx context.Context) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil || o.GetDeletionTimestamp() != nil {
				return err
			}
			return errors.New("it has no deletion timestamp")
		})
	}
	stop()

	c = newClient(t, startServer(t, Config{DataDir: dir}).RESTConfig())
	finishDeletions(t, c, "later")
	for _, o := range []client.Object{ns, owner} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Errorf("it must wait for the deletion of a custom object: %v", err)
		}
	}
	for _, o := range []*unstructured.Unstructured{content, dependent} {
		must(t, c.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	}
	for _, o := range []client.Object{content, ns, dependent, owner} {
		deleted(t, c, o)
	}
}

// held creates an object with a finalizer that the test removes.
func held(t *testing.T, c client.Client, namespace, name string, owners ...*corev1.Secret) *unstructured.Unstructured {
	t.Helper()
	o := gadget("Held", namespace, name, 1)
	o.SetFinalizers([]string{testGroup + "/hold"})
	o.SetOwnerReferences(references(owners...))
	must(t, c.Create(t.Context(), o))
	return o
}

// neverServed installs a definition with the kind of another one, which no start may wait for.
func neverServed(t *testing.T, c client.Client, taken string) {
	t.Helper()
	rival := gadgets("Rival")
	rival.Spec.Names.Kind = taken
	must(t, c.Create(t.Context(), rival))
	eventually(t, "the names of "+rival.Name+" are refused", func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(rival), rival)
		if err != nil || apihelpers.IsCRDConditionFalse(rival, apiextensionsv1.NamesAccepted) {
			return err
		}
		return errors.New("they are not yet")
	})
}

// finishDeletions deletes a namespace and an owner. When both deletions are finished, the controllers have begun with earlier ones, and the
// garbage collector watches the kind of the held objects.
func finishDeletions(t *testing.T, c client.Client, name string) {
	t.Helper()
	namespace(t, c, name)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(t, c.Delete(t.Context(), ns))
	owner := secret(t, c, name)
	owned := gadget("Held", owner.Namespace, name, 1)
	owned.SetOwnerReferences(references(owner))
	must(t, c.Create(t.Context(), owned))
	must(t, c.Delete(t.Context(), owner, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	deleted(t, c, ns)
	deleted(t, c, owned)
}

func secret(t *testing.T, c client.Client, name string) *corev1.Secret {
	t.Helper()
	o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	must(t, c.Create(t.Context(), o))
	return o
}

func references(owners ...*corev1.Secret) (all []metav1.OwnerReference) {
	for _, o := range owners {
		all = append(all, metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: o.Name, UID: o.UID, BlockOwnerDeletion: new(true)})
	}
	return all
}
