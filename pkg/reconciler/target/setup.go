// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// concurrency is how many targets are reconciled at the same time: they wait for the API server only.
const concurrency = 8

// SetupWithManager adds a controller to the manager, by the name that ControllerName returns. It watches targets, connection
// Secrets and the managed resources of each kind that a target names. A controller that is put together by hand without these watches
// reconciles within the poll interval.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.newTarget(), r.needIndex(), r.needs); err != nil {
		return fmt.Errorf("indexing targets: %w", err)
	}
	mine := resource.NewPredicates(func(o runtime.Object) bool {
		target, ok := o.(resource.Target)
		return ok && r.serves(target)
	})
	c, err := builder.ControllerManagedBy(mgr).
		Named(r.name).
		For(r.newTarget(), builder.WithPredicates(mine)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.targetsOfSecret)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			NewQueue:                queue.Of(mgr),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](flow.ConflictDelay, time.Minute),
		}).
		Build(r)
	if err != nil {
		return err
	}
	r.watches.Begin(c, mgr.GetCache())
	return nil
}

// needIndex is the name of the index of targets by what they need. Each controller has its own.
func (r *Reconciler) needIndex() string { return r.name + "/needs" }

// needs returns the managed resource and the Secret that a target names.
func (r *Reconciler) needs(o client.Object) []string {
	target, ok := o.(resource.Target)
	if !ok || !r.serves(target) {
		return nil
	}
	ref := target.GetResourceReference()
	names := []string{ofManaged(ref.GroupVersionKind().GroupKind(), ref.Name)}
	if to := target.GetWriteConnectionSecretToReference(); to != nil {
		names = append(names, ofSecret+to.Name)
	}
	return names
}

const ofSecret = "secret/"

func ofManaged(kind schema.GroupKind, name string) string { return kind.String() + "/" + name }

func (r *Reconciler) needing(ctx context.Context, what string, o ...client.ListOption) []reconcile.Request {
	return watch.Indexed(ctx, r.client, r.targetKind, r.needIndex(), what, o...)
}

// watchManaged watches managed resources of a kind, from the first target that names one.
func (r *Reconciler) watchManaged(kind schema.GroupVersionKind) error {
	return r.watches.Watch(kind, r.newManaged(kind), handler.EnqueueRequestsFromMapFunc(
		func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.needing(ctx, ofManaged(kind.GroupKind(), o.GetName()))
		}))
}

// targetsOfSecret returns the targets that depend on a connection Secret: the one that controls it, those that name the managed
// resource that controls it, and those that give its name.
func (r *Reconciler) targetsOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	requests := r.needing(ctx, ofSecret+o.GetName(), client.InNamespace(o.GetNamespace()))
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return requests
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	if kind == r.targetKind.GroupKind() {
		key := client.ObjectKey{Namespace: o.GetNamespace(), Name: owner.Name}
		return append(requests, reconcile.Request{NamespacedName: key})
	}
	return append(requests, r.needing(ctx, ofManaged(kind, owner.Name))...)
}
