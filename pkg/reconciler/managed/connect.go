// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// connect makes the client of this pass, and reads the secret inputs that it needs (R18).
func (r *Reconciler) connect(ctx context.Context, p *pass) outcome {
	external, err := read(ctx, r, verbConnect, p, r.connecter.Connect)
	if err != nil {
		return failed(ReasonCannotConnect, fmt.Errorf("connecting to the provider: %w", err))
	}
	p.client, p.external = external, external
	chooser, chooses := optional[PollIntervalChooser](external)
	if _, own := meta.GetPollInterval(p.managed); chooses && !own {
		p.poll = cmp.Or(max(chooser.PollInterval(), 0), p.poll)
	}
	if ruler, rules := optional[AdoptionRuler](external); rules {
		p.adoption = ruler.Adoption()
	}
	if meta.WasDeleted(p.managed) {
		return flow.Next()
	}
	return r.readInputs(ctx, p)
}

// disconnect ends the session with the external system.
func (r *Reconciler) disconnect(ctx context.Context, p *pass) {
	r.disconnectFrom(ctx, p.external, p.managed, func(ctx context.Context) [][]byte { return r.secretsOfPass(ctx, p) })
}

// disconnectFrom disconnects a client, whose errors may repeat secrets.
func (r *Reconciler) disconnectFrom(ctx context.Context, external ExternalClient, mg resource.Managed,
	secrets func(context.Context) [][]byte) {
	d, ok := optional[Disconnecter](external)
	if !ok {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			r.logPanic(ctx, mg, verbDisconnect, cause, secrets)
		}
	}()
	if err := d.Disconnect(ctx); err != nil {
		detached, cancel := detach(ctx)
		defer cancel()
		err = redact.Error(err, secrets(detached)...)
		r.logOf(ctx, mg).Info("Cannot disconnect from the provider", "error", err.Error())
	}
}

// Verbs of calls that do not run in the background.
const (
	verbConnect    verb = "connect"
	verbObserve    verb = "observe"
	verbFind       verb = "find"
	verbDisconnect verb = "disconnect"
)

// call creates, updates or deletes the external resource of an object.
func (r *Reconciler) call(ctx context.Context, v verb, external ExternalClient, mg resource.Managed) (details ConnectionDetails, err error) {
	ctx, end := r.beginCall(ctx, v)
	defer end(&err)
	if r.fence != nil {
		ctx = fence.With(ctx, r.fence)
	}
	if err := fence.Check(ctx); err != nil {
		return nil, err
	}
	switch v {
	case verbCreate:
		creation, err := external.Create(ctx, mg)
		return creation.ConnectionDetails, err
	case verbUpdate:
		defer keepName(mg)()
		update, err := external.Update(ctx, mg)
		return update.ConnectionDetails, err
	default:
		return nil, external.Delete(ctx, mg)
	}
}

// read makes a call that changes nothing.
func read[R any](ctx context.Context, r *Reconciler, v verb, p *pass,
	do func(context.Context, resource.Managed) (R, error)) (result R, err error) {
	p.setNoted()
	defer keepName(p.managed)()
	ctx, end := r.beginCall(ctx, v)
	defer end(&err)
	return do(ctx, p.managed)
}

// keepName returns what puts the external name back after a call. Another that a careless client sets is not stored, and the next
// call in the pass must not go to a resource that the object does not name. Only Create chooses one (R65).
func keepName(mg resource.Managed) func() {
	name := meta.GetExternalName(mg)
	return func() {
		if meta.GetExternalName(mg) != name {
			meta.SetExternalName(mg, name)
		}
	}
}
