// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// settle is the only place that turns an outcome into conditions, events, a status write and the time of the next pass. It
// writes nothing if nothing changed (N13).
func (r *Reconciler) settle(ctx context.Context, p *pass, o outcome) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(p.claim)
	if o.end != waiting && o.end != refused {
		r.waiting.forget(key)
	}
	r.tell(ctx, p, p.happened...)
	switch {
	case o.end == gone, errors.Is(ctx.Err(), context.Canceled):
		return reconcile.Result{}, nil
	case o.end == conflict:
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	if err := r.show(ctx, p, o); err != nil {
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: conflictDelay}, nil
		}
		return reconcile.Result{}, errors.Join(o.failure(), client.IgnoreNotFound(err))
	}
	if o.end == waiting || o.end == refused {
		return reconcile.Result{RequeueAfter: r.poll}, nil
	}
	return reconcile.Result{}, o.failure()
}

// failure is what the queue is told, so that it comes back later each time.
func (o outcome) failure() error {
	if o.end != failed {
		return nil
	}
	return o.err
}

// told is the error as the author of the claim sees it. What a step met that failed may name the API server or objects of the
// platform team: the author learns what was tried, and the log has the rest.
func (o outcome) told() error {
	cause := errors.Unwrap(o.err)
	if o.end != failed || cause == nil {
		return o.err
	}
	activity, whole := strings.CutSuffix(o.err.Error(), ": "+cause.Error())
	if !whole {
		activity = "serving the claim"
	}
	return fmt.Errorf("%s did not succeed and is tried again: if it lasts, ask your platform team, who sees why in the log of the "+
		"controllers", activity)
}

// show writes phase and conditions if they are news, and an event about them.
func (r *Reconciler) show(ctx context.Context, p *pass, o outcome) error {
	generation := p.claim.GetGeneration()
	ready, synced := p.ready(o).WithObservedGeneration(generation), p.synced(o).WithObservedGeneration(generation)
	phase := p.phase(o)
	was := p.claim.GetCondition(xpv1.TypeReady)
	news := !synced.WithObservedGeneration(0).Equal(p.claim.GetCondition(xpv1.TypeSynced).WithObservedGeneration(0)) ||
		!ready.WithObservedGeneration(0).Equal(was.WithObservedGeneration(0))
	if ready.Equal(was) && synced.Equal(p.claim.GetCondition(xpv1.TypeSynced)) && phase == p.claim.GetBindingPhase() {
		return nil
	}
	base := p.claim.DeepCopyObject().(client.Object)
	p.claim.SetConditions(ready, synced)
	p.claim.SetBindingPhase(phase)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, p.claim, patch); err != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	if e, ok := p.event(o); ok && news {
		r.tell(ctx, p, e)
	}
	return nil
}

// ready is what an outcome says about whether the claim can be used (R282).
func (p *pass) ready(o outcome) xpv1.Condition {
	was := p.claim.GetCondition(xpv1.TypeReady)
	switch {
	case meta.WasDeleted(p.claim):
		return xpv1.Deleting()
	case o.end == waiting, o.end == refused:
		return xpv1.Waiting(o.reason, o.message)
	case o.end == failed && (was.Reason == "" || was.Reason == xpv1.ReasonBinding): // what was waited for may have come
		return xpv1.Waiting(xpv1.ReasonBinding, "The last attempt to serve the claim failed and is repeated; condition Synced says how.")
	case o.end == failed:
		return was
	default:
		return xpv1.Available()
	}
}

// synced is what an outcome says about the pass.
func (p *pass) synced(o outcome) xpv1.Condition {
	switch {
	case o.err != nil:
		return xpv1.ReconcileError(o.told())
	case p.mistaken != nil:
		return xpv1.ReconcileError(p.mistaken)
	default:
		return xpv1.ReconcileSuccess()
	}
}

// phase is how far the claim is. An error of ours changes nothing about it.
func (p *pass) phase(o outcome) xpv1.BindingPhase {
	switch {
	case p.bound:
		return xpv1.BindingPhaseBound
	case o.end == failed && p.claim.GetBindingPhase() != "":
		return p.claim.GetBindingPhase()
	default:
		return xpv1.BindingPhaseUnbound
	}
}

// event is what an outcome says to people who watch events: not that a claim waits for what is being made.
func (p *pass) event(o outcome) (event.Event, bool) {
	switch {
	case o.end == goOn && p.mistaken != nil:
		return event.Warning(ReasonBadConnectionKeys, p.mistaken), true
	case o.end == failed:
		return event.Warning(ReasonCannotBind, o.told()), true
	case o.end == refused, o.end == waiting && o.reason != xpv1.ReasonBinding:
		return event.Warning(event.Reason(o.reason), errors.New(o.message)), true
	default:
		return event.Event{}, false
	}
}

// tell emits events. One that cannot be recorded, for example because its namespace is going away, changes nothing (N32).
func (r *Reconciler) tell(ctx context.Context, p *pass, events ...event.Event) {
	for _, e := range events {
		if err := r.recorder.Event(ctx, p.claim, e); err != nil {
			r.log.Info("Cannot record event", "claim", client.ObjectKeyFromObject(p.claim), "reason", e.Reason, "error", err.Error())
		}
	}
}

// write is copies.Write, for a step.
func write[T client.Object](ctx context.Context, r *Reconciler, o T, change func(T)) (T, error) {
	return copies.Write(ctx, r.client, o, change)
}

// writeClaim is write for the claim of a pass.
func (r *Reconciler) writeClaim(ctx context.Context, p *pass, change func(resource.Claim)) error {
	claim, err := write(ctx, r, p.claim, change)
	if err == nil {
		p.claim = claim
	}
	return err
}
