// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// connect makes the client of this pass (R18).
func (r *Reconciler) connect(ctx context.Context, p *pass) outcome {
	external, err := r.connected(ctx, p.managed)
	if err != nil {
		return fail(ReasonCannotConnect, fmt.Errorf("connecting to the provider: %w", err))
	}
	p.client, p.external = external, external
	p.choosePoll()
	return next()
}

// choosePoll lets the client choose how often to look, unless the object itself says so.
func (p *pass) choosePoll() {
	chooser, ok := optional[PollIntervalChooser](p.external)
	if _, asked := meta.GetPollInterval(p.managed); !ok || asked {
		return
	}
	if chosen := chooser.PollInterval(); chosen > 0 {
		p.poll = chosen
	}
}

// disconnect tells a client that wants to know that the pass is over.
func (r *Reconciler) disconnect(ctx context.Context, p *pass) {
	r.disconnectFrom(ctx, p.external, p.managed, func(ctx context.Context) [][]byte { return r.secretsOfPass(ctx, p) })
}

// disconnectFrom disconnects a client, whose errors may repeat secrets.
func (r *Reconciler) disconnectFrom(
	ctx context.Context, external ExternalClient, mg resource.Managed, secrets func(context.Context) [][]byte,
) {
	d, ok := optional[Disconnecter](external)
	if !ok {
		return
	}
	defer func() {
		if recover() != nil {
			r.logOf(ctx, mg).Error(nil, "The provider's code panicked", "call", "Disconnect", "stack", string(debug.Stack()))
		}
	}()
	if err := d.Disconnect(ctx); err != nil {
		telling, cancel := detach(ctx)
		defer cancel()
		err = Redact(err, secrets(telling)...)
		r.logOf(ctx, mg).Info("Cannot disconnect from the provider", "error", err.Error())
	}
}
