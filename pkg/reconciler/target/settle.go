// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

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
)

// settle is the only place that turns an outcome into conditions, events, a status write and the time of the next pass. It
// writes nothing if nothing changed (N13).
func (r *Reconciler) settle(ctx context.Context, p *pass, o outcome) (reconcile.Result, error) {
	r.tell(ctx, p, p.happened...)
	switch {
	case o.end == gone, errors.Is(ctx.Err(), context.Canceled):
		return reconcile.Result{}, nil
	case o.end == conflict:
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	case o.end == failed:
		r.log.Info("A pass over a target failed", "target", client.ObjectKeyFromObject(p.target), "error", o.err.Error())
	}
	if err := r.show(ctx, p, o); err != nil {
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: conflictDelay}, nil
		}
		return reconcile.Result{}, errors.Join(o.failure(), client.IgnoreNotFound(err))
	}
	if o.end == refused || o.end == goOn && !r.watching.begun() {
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

// told is the error as the author of the target sees it. What a step met that failed may name the API server or Secrets of the
// platform team: the author learns what was tried, and the log has the rest.
func (o outcome) told() error {
	if o.end != failed {
		return o.err
	}
	activity := "serving the target"
	if cause := errors.Unwrap(o.err); cause != nil {
		if before, whole := strings.CutSuffix(o.err.Error(), ": "+cause.Error()); whole {
			activity = before
		}
	}
	return fmt.Errorf("%s did not succeed and is tried again: if it lasts, ask your platform team, who sees why in the log of the "+
		"controllers", activity)
}

// show writes conditions if they are news, and an event about them.
func (r *Reconciler) show(ctx context.Context, p *pass, o outcome) error {
	generation := p.target.GetGeneration()
	ready, synced := p.ready(o).WithObservedGeneration(generation), p.synced(o).WithObservedGeneration(generation)
	wasReady, wasSynced := p.target.GetCondition(xpv1.TypeReady), p.target.GetCondition(xpv1.TypeSynced)
	if ready.Equal(wasReady) && synced.Equal(wasSynced) {
		return nil
	}
	base := p.target.DeepCopyObject().(client.Object)
	p.target.SetConditions(ready, synced)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, p.target, patch); err != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	if e, ok := p.event(o); ok && !synced.Equal(wasSynced.WithObservedGeneration(generation)) {
		r.tell(ctx, p, e)
	}
	return nil
}

// ready is what an outcome says about whether the target's Secret can be used.
func (p *pass) ready(o outcome) xpv1.Condition {
	was := p.target.GetCondition(xpv1.TypeReady)
	switch {
	case meta.WasDeleted(p.target):
		return xpv1.Deleting()
	case o.end == refused:
		return xpv1.Waiting(o.reason, o.err.Error())
	case o.end == failed && (was.Reason == "" || was.Reason == xpv1.ReasonConnecting): // what was waited for may have come
		return xpv1.Waiting(xpv1.ReasonConnecting, "The last attempt to serve the target failed and is repeated; condition Synced says how.")
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

// event is what an outcome says to people who watch events.
func (p *pass) event(o outcome) (event.Event, bool) {
	switch {
	case o.end == goOn && p.mistaken != nil:
		return event.Warning(ReasonDetailsLost, p.mistaken), true
	case o.end == failed:
		return event.Warning(ReasonCannotConnect, o.told()), true
	case o.end == refused:
		return event.Warning(event.Reason(o.reason), o.err), true
	default:
		return event.Event{}, false
	}
}

// tell emits events. One that cannot be recorded, for example because its namespace is going away, changes nothing (N32).
func (r *Reconciler) tell(ctx context.Context, p *pass, events ...event.Event) {
	for _, e := range events {
		if err := r.recorder.Event(ctx, p.target, e); err != nil {
			r.log.Info("Cannot record event", "target", client.ObjectKeyFromObject(p.target), "reason", e.Reason, "error", err.Error())
		}
	}
}

// write is copies.Write, for a step.
func write[T client.Object](ctx context.Context, r *Reconciler, o T, change func(T)) (T, error) {
	return copies.Write(ctx, r.client, o, change)
}
