// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
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
	// Managed resources are watched anyway, so their index costs no request.
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.newManaged(), r.claimIndex(), r.indexClaim); err != nil {
		return fmt.Errorf("indexing managed resources by claim: %w", err)
	}
	r.indexed = true
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName(resource.ClaimKind(r.claimKind), resource.ManagedKind(r.managedKind))).
		For(r.newClaim(), builder.WithPredicates(r.mine())).
		Watches(r.newClaim(), r.freePlacesOfClaims()).
		Watches(r.newManaged(), &resource.EnqueueRequestForClaim{}).
		Watches(r.newManaged(), r.waitersOf(topicManaged)).
		Watches(r.newManaged(), r.freePlacesOfManaged()).
		Watches(r.newClass(), r.waitersOf(topicClass)).
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
	named := resource.NewPredicates(func(o runtime.Object) bool {
		claim, ok := o.(resource.Claim)
		return ok && (objects.IsOf(claim.GetClassReference(), r.classKind) || objects.IsOf(claim.GetResourceReference(), r.managedKind))
	})
	all := named
	all.UpdateFunc = func(e event.UpdateEvent) bool {
		return named.Update(e) || named.Update(event.UpdateEvent{ObjectOld: e.ObjectNew, ObjectNew: e.ObjectOld})
	}
	all.DeleteFunc = func(event.DeleteEvent) bool { return true }
	return all
}

// What claims wait for.
const (
	topicClass   = "class"
	topicManaged = "managed"
	topicSecret  = "secret"
)

func (r *Reconciler) waitFor(p *pass, kind, name string) {
	r.waiters.Wait(client.ObjectKeyFromObject(p.claim), watch.Topic{Kind: kind, NamespacedName: types.NamespacedName{Name: name}})
}

// waitersOf enqueues the claims that wait for an object.
func (r *Reconciler) waitersOf(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return r.waiters.On(watch.Topic{Kind: kind, NamespacedName: client.ObjectKeyFromObject(o)})
	})
}

// freePlacesOfClaims enqueues claims that wait for a place in a class when another claim of it is deleted.
func (r *Reconciler) freePlacesOfClaims() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if claim, ok := e.Object.(resource.Claim); ok {
				r.freed(claim.GetClassReference(), q)
			}
		},
	}
}

// freePlacesOfManaged enqueues claims that wait for a place in a class when a managed resource of it leaves its claim.
func (r *Reconciler) freePlacesOfManaged() handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			was, before := e.ObjectOld.(resource.BindableManaged)
			is, after := e.ObjectNew.(resource.BindableManaged)
			if before && after && claimUID(was) != "" && claimUID(was) != claimUID(is) {
				r.freed(is.GetClassReference(), q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if mg, ok := e.Object.(resource.BindableManaged); ok {
				r.freed(mg.GetClassReference(), q)
			}
		},
	}
}

func claimUID(mg resource.BindableManaged) types.UID {
	if ref := mg.GetClaimReference(); ref != nil {
		return ref.UID
	}
	return ""
}

func (r *Reconciler) freed(class *corev1.ObjectReference, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if !objects.IsOf(class, r.classKind) {
		return
	}
	for _, request := range r.waiters.On(watch.Topic{Kind: topicClass, NamespacedName: types.NamespacedName{Name: class.Name}}) {
		q.Add(request)
	}
}

// claimsOfSecret returns the claims that depend on a connection Secret: the one that controls it, the one that its managed resource
// belongs to, and those that wait for its name.
func (r *Reconciler) claimsOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	requests := r.waiters.On(watch.Topic{Kind: topicSecret, NamespacedName: client.ObjectKeyFromObject(o)})
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return requests
	}
	switch schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() {
	case r.claimKind.GroupKind():
		key := types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}
		requests = append(requests, reconcile.Request{NamespacedName: key})
	case r.managedKind.GroupKind():
		mg := r.newManaged()
		if err := r.client.Get(ctx, types.NamespacedName{Name: owner.Name}, mg); err != nil {
			return requests // it has an event of its own
		}
		if ref := mg.GetClaimReference(); ref != nil && r.names(ref, meta.NamespacedNameOf(ref)) {
			requests = append(requests, reconcile.Request{NamespacedName: meta.NamespacedNameOf(ref)})
		}
	}
	return requests
}
