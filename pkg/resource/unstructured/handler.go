// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Handler returns a handler that calls all of the given ones. Of an object without a Go type they get a Managed.
func Handler(all ...handler.EventHandler) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			e.Object = wrapped(e.Object)
			for _, h := range all {
				h.Create(ctx, e, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			e.ObjectOld, e.ObjectNew = wrapped(e.ObjectOld), wrapped(e.ObjectNew)
			for _, h := range all {
				h.Update(ctx, e, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			e.Object = wrapped(e.Object)
			for _, h := range all {
				h.Delete(ctx, e, q)
			}
		},
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func wrapped(o client.Object) client.Object {
	if mg, ok := As[*Managed](o); ok {
		return mg
	}
	return o
}
