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
	"github.com/bowline-dev/bowline/pkg/resource"
)

// concurrency is how many targets are reconciled at the same time: they wait for the API server only.
const concurrency = 8

// SetupWithManager adds a controller to the manager, by the name that ControllerName returns. It watches targets, connection
// Secrets and the managed resources of each kind that a target names. A controller that is put together by hand without these watches
// reconciles within the poll interval.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	for index, of := range map[string]client.IndexerFunc{r.managedIndex(): indexManaged, r.secretIndex(): indexSecret} {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.newTarget(), index, of); err != nil {
			return fmt.Errorf("indexing targets: %w", err)
		}
	}
	mine := resource.NewPredicates(func(o runtime.Object) bool {
		target, ok := o.(resource.Target)
		return ok && r.serves(target)
	})
	c, err := builder.ControllerManagedBy(mgr).
		Named(ControllerName(resource.ManagedKind(r.managedKind))).
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

// watchManaged watches managed resources of a kind, from the first target that names one.
func (r *Reconciler) watchManaged(kind schema.GroupVersionKind) error {
	return r.watches.Watch(kind, r.newManaged(kind), handler.EnqueueRequestsFromMapFunc(
		func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.indexed(ctx, r.managedIndex(), managedValue(kind.GroupKind(), o.GetName()))
		}))
}

// targetsOfSecret returns the targets that depend on a connection Secret: the one that controls it, those that name the managed
// resource that controls it, and those that give its name.
func (r *Reconciler) targetsOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	requests := r.indexed(ctx, r.secretIndex(), o.GetName(), client.InNamespace(o.GetNamespace()))
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return requests
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	if kind == r.targetKind.GroupKind() {
		key := client.ObjectKey{Namespace: o.GetNamespace(), Name: owner.Name}
		return append(requests, reconcile.Request{NamespacedName: key})
	}
	return append(requests, r.indexed(ctx, r.managedIndex(), managedValue(kind, owner.Name))...)
}

// indexed returns requests for the targets that an index has under a value.
func (r *Reconciler) indexed(ctx context.Context, index, value string, o ...client.ListOption) (requests []reconcile.Request) {
	list := r.newTargetList()
	o = append(o, client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy)
	if err := r.client.List(ctx, list, o...); err != nil {
		r.log.Error(err, "Cannot list targets")
		return nil
	}
	for _, target := range list.GetItems() {
		if r.serves(target) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(target)})
		}
	}
	return requests
}

// managedIndex is the name of the index of targets by the managed resource that they name. Each controller has its own.
func (r *Reconciler) managedIndex() string {
	return ControllerName(resource.ManagedKind(r.managedKind)) + "/managed"
}

// secretIndex is the name of the index of targets by the Secret that they name.
func (r *Reconciler) secretIndex() string {
	return ControllerName(resource.ManagedKind(r.managedKind)) + "/secret"
}

func indexManaged(o client.Object) []string {
	target, ok := o.(resource.Target)
	if !ok || target.GetResourceReference() == nil {
		return nil
	}
	ref := target.GetResourceReference()
	return []string{managedValue(ref.GroupVersionKind().GroupKind(), ref.Name)}
}

func managedValue(kind schema.GroupKind, name string) string { return kind.String() + "/" + name }

func indexSecret(o client.Object) []string {
	target, ok := o.(resource.Target)
	if !ok || target.GetWriteConnectionSecretToReference() == nil {
		return nil
	}
	return []string{target.GetWriteConnectionSecretToReference().Name}
}
