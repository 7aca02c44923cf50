// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// WithFence sets what is checked before each call that changes the external system, such as whether this process still holds its lease.
// Default: nothing.
func WithFence(f fence.Fence) ReconcilerOption { return func(r *Reconciler) { r.fence = f } }

// fenceCreation returns a context for the calls of a creation, for a process that may have been frozen: the first is sent within half of the
// consistency window, the last within three quarters, while another process that took over still waits for their result. A creation in the
// background may go on for longer: once its first call is sent, the resource can be found (N87).
func (r *Reconciler) fenceCreation(ctx context.Context, p *pass) (context.Context, context.CancelFunc) {
	began, sent := time.Now().Add(-r.sinceBegin(p)), atomic.Int32{}
	ctx = fence.OnSend(ctx, func() { sent.Add(1) })
	ctx = fence.With(ctx, func() error {
		part := 2 * r.consistency / 4
		if sent.Load() > 0 {
			part = 3 * r.consistency / 4
		}
		if sent.Load() > 0 && r.callTimeout > 0 || !fence.IsOver(began.Add(part)) {
			return nil
		}
		late := fence.Late("the creation began too long ago: if that lasts, the provider has to declare a longer Kind.Lag")
		if sent.Load() > 0 { // the resource may exist
			return failure.OutcomeUnknown(late)
		}
		return late
	})
	if r.callTimeout > 0 {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, began.Add(3*r.consistency/4))
}

// sinceBegin is how long ago the pending creation began. Another process knows that only by its mark, whose precision is a second.
func (r *Reconciler) sinceBegin(p *pass) time.Duration {
	began := meta.GetExternalCreatePending(p.managed)
	if p.memory.mark.Equal(began) {
		began = p.memory.marked
	}
	return r.now().Round(0).Sub(began)
}
