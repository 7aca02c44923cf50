// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// WithFence sets what is checked before each call that changes the external system, such as whether this process still holds its lease.
// Default: nothing.
func WithFence(f fence.Fence) ReconcilerOption { return func(r *Reconciler) { r.fence = f } }

// WithShard sets which objects this process reconciles. Of the others it only knows what they refer to. Default: all.
func WithShard(owns func(context.Context, resource.Managed) (bool, error)) ReconcilerOption {
	return func(r *Reconciler) { r.owns = owns }
}

// fenceCreation returns a context for the calls of a creation, for a process that may have been frozen: the first is sent within half of the
// consistency window, while another process that took over still waits for its result. How long the external system takes, and later calls,
// are not limited: once the first is sent, the resource can be found (N87).
func (r *Reconciler) fenceCreation(ctx context.Context, p *pass) context.Context {
	end := time.Now().Add(r.consistency/2 - r.sinceBegin(p))
	var sent atomic.Bool
	ctx = fence.OnSend(ctx, func() { sent.Store(true) })
	return fence.With(ctx, func() error {
		if sent.Load() || !fence.IsOver(end) {
			return nil
		}
		return fence.Late("the creation began too long ago")
	})
}

// sinceBegin is how long ago the pending creation began. Another process knows that only by its mark, whose precision is a second.
func (r *Reconciler) sinceBegin(p *pass) time.Duration {
	began := meta.GetExternalCreatePending(p.managed)
	if p.memory.mark.Equal(began) {
		began = p.memory.marked
	}
	return r.now().Round(0).Sub(began)
}
