// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Wakeups is a source of requests for the claims that wants is true for, at each change of what classes there are.
func (c *Classes) Wakeups(wants func(resource.Claim) bool) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listeners = append(c.listeners, func() error { return c.wake(ctx, wants, queue) })
		c.news = true // what happened before is news to this listener
		c.sign()
		return nil
	})
}

func (c *Classes) wake(ctx context.Context, wants func(resource.Claim) bool, queue workqueue.TypedInterface[reconcile.Request]) error {
	list := objects.MustNew[client.ObjectList](c.mgr.GetScheme(), c.claims.GroupVersion().WithKind(c.claims.Kind+"List"))
	if err := c.mgr.GetClient().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	return apimeta.EachListItem(list, func(item runtime.Object) error {
		if claim, ok := item.(resource.Claim); ok && wants(claim) {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(claim)})
		}
		return nil
	})
}
