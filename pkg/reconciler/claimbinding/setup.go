// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// concurrency is how many claims are reconciled at the same time: they wait for the API server only.
const concurrency = 16

// SetupWithManager adds a controller to the manager, by the name that ControllerName returns. It watches claims that name the
// class kind or the managed kind (R255), managed resources (R254), classes and connection Secrets. A controller that is put together
// by hand without these watches reconciles within the poll interval: after a class appears or its limit is raised, a place in a class
// becomes free, a managed resource is created or allows a claim, a Secret changes.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	// Claims and managed resources are watched anyway, so their indexes cost no request.
	err := errors.Join(mgr.GetFieldIndexer().IndexField(context.Background(), r.newManaged(), r.claimIndex(), r.indexClaim),
		mgr.GetFieldIndexer().IndexField(context.Background(), r.newClaim(), r.needIndex(), r.needs))
	if err != nil {
		return fmt.Errorf("indexing claims and managed resources: %w", err)
	}
	r.indexed = true
	return builder.ControllerManagedBy(mgr).
		Named(r.name).
		For(r.newClaim(), builder.WithPredicates(r.mine())).
		Watches(r.newClaim(), handler.Funcs{DeleteFunc: r.userDeleted}).
		Watches(r.newManaged(), &resource.EnqueueRequestForClaim{}).
		Watches(r.newManaged(), r.enqueueNeeding(ofManaged)).
		Watches(r.newManaged(), handler.Funcs{UpdateFunc: r.managedUpdated, DeleteFunc: r.userDeleted}).
		Watches(r.newClass(), r.enqueueNeeding(ofClass)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.claimsOfSecret)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			NewQueue:                queue.Of(mgr),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](flow.ConflictDelay, time.Minute),
		}).
		Complete(r)
}

// mine accepts the claims of this controller, those that leave it, and all that are deleted: something may have been created for
// them before.
func (r *Reconciler) mine() predicate.Funcs {
	named := func(o client.Object) bool {
		claim, ok := o.(resource.Claim)
		return ok && (objects.IsOf(claim.GetClassReference(), r.classKind) || objects.IsOf(claim.GetResourceReference(), r.managedKind))
	}
	all := predicate.NewPredicateFuncs(named)
	all.UpdateFunc = func(e event.UpdateEvent) bool { return named(e.ObjectOld) || named(e.ObjectNew) }
	all.DeleteFunc = func(event.DeleteEvent) bool { return true }
	return all
}

// What a claim needs, before the name of the object.
const (
	ofClass   = "class/"
	ofManaged = "managed/"
	ofSecret  = "secret/"
)

// needIndex is the name of the index of claims by what they need. Each controller has its own.
func (r *Reconciler) needIndex() string { return r.name + "/needs" }

// needs returns the objects that a claim may wait for and that do not name it. Only a claim without a managed resource waits for a
// class, or for a place in it.
func (r *Reconciler) needs(o client.Object) (names []string) {
	claim, ok := o.(resource.Claim)
	if !ok || !r.serves(claim) {
		return nil
	}
	if ref := claim.GetResourceReference(); ref != nil {
		names = append(names, ofManaged+ref.Name)
	} else {
		names = append(names, ofClass+claim.GetClassReference().Name)
	}
	if to := claim.GetWriteConnectionSecretToReference(); to != nil {
		names = append(names, ofSecret+to.Name)
	}
	return names
}

func (r *Reconciler) needing(ctx context.Context, what string, o ...client.ListOption) []reconcile.Request {
	return watch.Indexed(ctx, r.client, r.claimKind, r.needIndex(), what, o...)
}

func (r *Reconciler) enqueueNeeding(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.needing(ctx, kind+o.GetName())
	})
}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// userDeleted frees the place of a claim or a managed resource.
func (r *Reconciler) userDeleted(ctx context.Context, e event.DeleteEvent, q requests) {
	if user, ok := e.Object.(resource.ClassReferencer); ok {
		r.freed(ctx, user.GetClassReference(), q)
	}
}

// managedUpdated frees a place if a managed resource leaves its claim.
func (r *Reconciler) managedUpdated(ctx context.Context, e event.UpdateEvent, q requests) {
	was, before := e.ObjectOld.(resource.BindableManaged)
	is, after := e.ObjectNew.(resource.BindableManaged)
	if before && after && claimUID(was) != "" && claimUID(was) != claimUID(is) {
		r.freed(ctx, is.GetClassReference(), q)
	}
}

func claimUID(mg resource.BindableManaged) types.UID {
	return ptr.Deref(mg.GetClaimReference(), corev1.ObjectReference{}).UID
}

// freed enqueues the claims that may wait for a place in a class.
func (r *Reconciler) freed(ctx context.Context, class *corev1.ObjectReference, q requests) {
	if !objects.IsOf(class, r.classKind) {
		return
	}
	for _, request := range r.needing(ctx, ofClass+class.Name) {
		q.Add(request)
	}
}

// claimsOfSecret returns the claims that depend on a connection Secret: the one that controls it, the one that its managed resource
// belongs to, and those that give its name.
func (r *Reconciler) claimsOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	found := r.needing(ctx, ofSecret+o.GetName(), client.InNamespace(o.GetNamespace()))
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return found
	}
	switch schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() {
	case r.claimKind.GroupKind():
		found = append(found, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}})
	case r.managedKind.GroupKind():
		mg := r.newManaged()
		if err := r.client.Get(ctx, types.NamespacedName{Name: owner.Name}, mg); err != nil {
			return found // it has an event of its own
		}
		if ref := mg.GetClaimReference(); ref != nil && r.names(ref, meta.NamespacedNameOf(ref)) {
			found = append(found, reconcile.Request{NamespacedName: meta.NamespacedNameOf(ref)})
		}
	}
	return found
}
