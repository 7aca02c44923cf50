// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// WithFence sets what is checked before each call that changes the external system, such as whether this process still holds its lease.
// Default: nothing.
func WithFence(f fence.Fence) ReconcilerOption { return func(r *Reconciler) { r.fence = f } }

const creationTooLate = "the creation began too long ago"

// fenceCreation returns a context for the calls of a creation, for a process that may have been frozen: they begin within half of the
// consistency window, and end within three quarters, while another process that took over still waits for their result. A creation in the
// background may go on for longer: once its first request is sent, the resource can be found (N87).
func (r *Reconciler) fenceCreation(ctx context.Context, p *pass) (context.Context, context.CancelFunc) {
	real := time.Now().Add(-r.sinceBegin(p)) // when the creation began
	begin, end := real.Add(r.consistency/2), real.Add(r.consistency*3/4)
	var passed atomic.Int32
	ctx = fence.With(ctx, func() error {
		until := end
		switch n := passed.Load(); {
		case n == 0:
			until = begin
		case n > 1 && r.callTimeout > 0:
			return nil
		}
		err := fence.Until(until, creationTooLate)()
		if err == nil {
			passed.Add(1)
		}
		return err
	})
	if r.callTimeout > 0 {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, end)
}

// sinceBegin is how long ago the pending creation began. Another process knows that only by its mark, whose precision is a second.
func (r *Reconciler) sinceBegin(p *pass) time.Duration {
	began := meta.GetExternalCreatePending(p.managed)
	if p.memory.mark.Equal(began) {
		began = p.memory.marked
	}
	return r.now().Round(0).Sub(began)
}
