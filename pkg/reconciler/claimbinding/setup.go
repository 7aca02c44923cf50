// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// concurrency is how many claims are reconciled at the same time: they wait for the API server only.
const concurrency = 16

// SetupWithManager adds a controller to the manager, by the name that ControllerName returns. It watches claims that name the
// class kind or the managed kind, managed resources, classes and connection Secrets (R254, R255), and namespaces, quotas and other Secrets
// from the first claim on that these keep waiting. A controller that is put together
// by hand without these watches reconciles within the poll interval: after a class appears or its limit is raised, a place in a class
// becomes free, a managed resource is created or allows a claim, a Secret changes.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	// Claims and managed resources are watched anyway, so their indexes cost no request.
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.newClaim(), r.needing.Index, r.needs); err != nil {
		return fmt.Errorf("indexing claims: %w", err)
	}
	b := builder.ControllerManagedBy(mgr)
	if r.kinds != nil {
		definer, redefines := r.kinds.Definer()
		b = b.Watches(definer, handler.EnqueueRequestsFromMapFunc(r.defined), builder.WithPredicates(redefines)).
			Watches(r.newClass(), &handler.EnqueueRequestForObject{}, builder.WithPredicates(besidesStatus()))
	} else {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.newManaged(), r.claimIndex(), r.indexClaim); err != nil {
			return fmt.Errorf("indexing managed resources: %w", err)
		}
		b = b.Watches(r.newManaged(), r.managedChanged())
	}
	r.indexed = true
	return r.watches.Build(mgr, b.
		Named(r.name).
		For(r.newClaim(), builder.WithPredicates(r.mine())).
		Watches(r.newClaim(), handler.Funcs{DeleteFunc: r.userDeleted}).
		Watches(r.newClass(), r.needing.Enqueue(r.classKind.GroupKind()), builder.WithPredicates(besidesStatus())).
		Watches(r.newClass(), handler.Funcs{UpdateFunc: r.classUpdated}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.needing.OnSecret)).
		WatchesRawSource(r.refused.Source(mgr)).
		WithOptions(queue.Options(mgr, r.name, concurrency, flow.ConflictDelay, time.Minute)), r)
}

// managedChanged enqueues the claims that depend on a managed resource.
func (r *Reconciler) managedChanged() handler.EventHandler {
	return unstructured.Handler(&resource.EnqueueRequestForClaim{}, r.needing.Enqueue(r.managedKind.GroupKind()),
		handler.Funcs{UpdateFunc: r.managedUpdated, DeleteFunc: r.userDeleted})
}

// mine accepts the claims of this controller, those that leave it, and all that are deleted: something may have been created for
// them before.
func (r *Reconciler) mine() predicate.Funcs {
	named := func(o client.Object) bool {
		claim, ok := o.(resource.Claim)
		return ok && (objects.IsOf(claim.GetClassReference(), r.classKind) || r.provides(claim.GetResourceReference()))
	}
	all := predicate.NewPredicateFuncs(named)
	all.UpdateFunc = func(e event.UpdateEvent) bool { return named(e.ObjectOld) || named(e.ObjectNew) }
	all.DeleteFunc = func(event.DeleteEvent) bool { return true }
	return all
}

// besidesStatus leaves out updates of a class that only change its status (N58).
func besidesStatus() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// needs returns the objects that a claim may wait for and that do not name it. Only a claim without a managed resource waits for a
// class, or for a place in it.
func (r *Reconciler) needs(o client.Object) (names []string) {
	claim, ok := o.(resource.Claim)
	if !ok || !r.serves(claim) {
		return nil
	}
	if ref := claim.GetResourceReference(); ref != nil {
		kind := ref.GroupVersionKind().GroupKind()
		names = append(names, watch.Need(kind, ref.Name), watch.Need(schema.GroupKind{Group: kind.Group}, ""))
	} else {
		names = append(names, watch.Need(r.classKind.GroupKind(), claim.GetClassReference().Name))
	}
	if ref := claim.GetClassReference(); ref != nil && claim.GetClassSelector() != nil {
		names = append(names, watch.Need(r.classLabels(), ref.Name))
	}
	if to := claim.GetWriteConnectionSecretToReference(); to != nil {
		names = append(names, watch.Need(watch.SecretKind, to.Name))
	}
	return names
}

// classLabels stands for the labels of classes, of which a claim with a selector reports whether they still match.
func (r *Reconciler) classLabels() schema.GroupKind {
	return schema.GroupKind{Group: r.classKind.Group, Kind: r.classKind.Kind + "/labels"}
}

// classUpdated enqueues the claims that selected the class if its labels changed.
func (r *Reconciler) classUpdated(ctx context.Context, e event.UpdateEvent, q requests) {
	if maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) {
		return
	}
	for _, request := range r.needing.On(ctx, r.classLabels(), e.ObjectNew.GetName()) {
		q.Add(request)
	}
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
	for _, request := range r.needing.On(ctx, r.classKind.GroupKind(), class.Name) {
		q.Add(request)
	}
}
