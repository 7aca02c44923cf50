// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/classes"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// settle is the only place that speaks: it writes the verdict if it is news, and says when to look again.
func (r *Reconciler) settle(ctx context.Context, claim resource.Claim, v verdict) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(claim)
	if !v.patient {
		r.forget(key)
	}
	was := claim.GetCondition(xpv1.TypeReady)
	ready := v.ready.WithObservedGeneration(claim.GetGeneration())
	said := ready.Type == "" || ready.Equal(was) && claim.GetBindingPhase() != ""
	if said && !v.letGo {
		return reconcile.Result{}, nil
	}
	if v.patient {
		if rest := r.rest(key); rest > 0 {
			return reconcile.Result{RequeueAfter: rest}, nil
		}
	}
	write := func() error { return r.write(ctx, claim, ready) }
	if v.letGo {
		write = func() error { return r.letGo(ctx, claim) }
	}
	if err := write(); apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: classes.ConflictDelay}, nil // somebody wrote first, perhaps a class (R17)
	} else if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.forget(key) // whoever says something else gets time again
	if !v.letGo && ready.Reason != was.Reason {
		r.tell(ctx, claim, event.Warning(event.Reason(ready.Reason), errors.New(ready.Message)))
	}
	return reconcile.Result{}, nil
}

// write sets the condition, unless somebody wrote to the claim since it was read: then others may speak for it now.
func (r *Reconciler) write(ctx context.Context, claim resource.Claim, ready xpv1.Condition) error {
	before := claim.DeepCopyObject().(client.Object)
	claim.SetConditions(ready)
	if claim.GetBindingPhase() == "" {
		claim.SetBindingPhase(xpv1.BindingPhaseUnbound)
	}
	err := r.client.Status().Patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	return nil
}

// letGo lets the deletion of a claim finish that nobody serves, unless somebody wrote to it since it was read.
func (r *Reconciler) letGo(ctx context.Context, claim resource.Claim) error {
	before := claim.DeepCopyObject().(client.Object)
	meta.RemoveFinalizer(claim, meta.FinalizerClaim)
	err := r.client.Patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	r.log.Info("Let a deleted claim go that nobody serves", "claim", client.ObjectKeyFromObject(claim))
	return nil
}

// tell emits an event. One that cannot be recorded, for example because its namespace is going away, changes nothing.
func (r *Reconciler) tell(ctx context.Context, claim resource.Claim, e event.Event) {
	if err := r.recorder.Event(ctx, claim, e); err != nil {
		r.log.Info("Cannot record event", "object", client.ObjectKeyFromObject(claim), "reason", e.Reason, "error", err.Error())
	}
}
