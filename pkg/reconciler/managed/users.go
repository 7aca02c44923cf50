// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/resource"
	managedunstructured "github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// providerConfigIndex indexes managed resources by the name of the ProviderConfig that they use.
const providerConfigIndex = "bowline.dev/providerConfig"

// IndexProviderConfig lets Users find the managed resources of one kind. Call it once per kind before the manager
// starts.
func IndexProviderConfig(ctx context.Context, mgr manager.Manager, of resource.Managed) error {
	cached := client.Object(of)
	if untyped, ok := of.(*managedunstructured.Managed); ok {
		cached = untyped.GetUnstructured()
	}
	return mgr.GetFieldIndexer().IndexField(ctx, cached, providerConfigIndex, func(o client.Object) []string {
		mg, ok := asManaged(o)
		if !ok {
			return nil
		}
		return []string{resource.ProviderConfigName(mg)}
	})
}

// asManaged returns an object of a cache as a managed resource, also one of a kind without a Go type.
func asManaged(o runtime.Object) (resource.Managed, bool) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return managedunstructured.Wrap(u), true
	}
	mg, ok := o.(resource.Managed)
	return mg, ok
}

// Users returns requests for all managed resources of this kind that use the ProviderConfig of the given name, and
// wakes them: what they failed at may succeed now. It reads from the cache; see IndexProviderConfig.
func (r *Reconciler) Users(ctx context.Context, providerConfig string) ([]reconcile.Request, error) {
	list, err := r.newList()
	if err != nil {
		return nil, err
	}
	if err := r.client.List(ctx, list, client.MatchingFields{providerConfigIndex: providerConfig}); err != nil {
		return nil, fmt.Errorf("listing users of provider config %q: %w", providerConfig, err)
	}
	var requests []reconcile.Request
	err = meta.EachListItem(list, func(item runtime.Object) error {
		req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))}
		r.Wake(req)
		requests = append(requests, req)
		return nil
	})
	return requests, err
}

func (r *Reconciler) newList() (client.ObjectList, error) {
	kind := r.kind.GroupVersion().WithKind(r.kind.Kind + "List")
	if _, ok := r.newManaged().(runtime.Unstructured); ok {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return list, nil
	}
	o, err := r.client.Scheme().New(kind)
	if err != nil {
		return nil, fmt.Errorf("making a list: %w", err)
	}
	list, ok := o.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%T is not a list of objects", o)
	}
	return list, nil
}
