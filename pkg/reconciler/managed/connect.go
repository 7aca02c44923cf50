// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// connect makes the client of this pass (R18), and reads the secret inputs that it needs.
func (r *Reconciler) connect(ctx context.Context, p *pass) outcome {
	external, err := read(ctx, r, verbConnect, p.managed, r.connecter.Connect)
	if err != nil {
		return failed(ReasonCannotConnect, fmt.Errorf("connecting to the provider: %w", err))
	}
	p.client, p.external = external, external
	chooser, chooses := optional[PollIntervalChooser](external)
	if _, own := meta.GetPollInterval(p.managed); chooses && !own {
		p.poll = cmp.Or(max(chooser.PollInterval(), 0), p.poll)
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
func (r *Reconciler) disconnectFrom(
	ctx context.Context, external ExternalClient, mg resource.Managed, secrets func(context.Context) [][]byte,
) {
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
func read[R any](
	ctx context.Context, r *Reconciler, v verb, mg resource.Managed, do func(context.Context, resource.Managed) (R, error),
) (result R, err error) {
	defer keepName(mg)()
	ctx, end := r.beginCall(ctx, v)
	defer end(&err)
	return do(ctx, mg)
}

// keepName returns what puts the external name back after a call. Only Create chooses one (R65): another that a careless client
// sets is not stored, and the next call in the pass must not go to a resource that the object does not name.
func keepName(mg resource.Managed) func() {
	name := meta.GetExternalName(mg)
	return func() {
		if meta.GetExternalName(mg) != name {
			meta.SetExternalName(mg, name)
		}
	}
}

// beginCall begins to measure a call. end, which is to be deferred, records it, also if it panics, in which case its outcome is
// unknown. The text of the error is not recorded: it may hold a secret that is not known as one yet. The span of the pass has it,
// redacted.
func (r *Reconciler) beginCall(ctx context.Context, v verb) (_ context.Context, end func(result *error)) {
	began, span := r.now(), trace.Span(nil)
	if trace.SpanFromContext(ctx).IsRecording() {
		ctx, span = r.instruments.tracer.Start(ctx, string(v), trace.WithSpanKind(trace.SpanKindClient))
	}
	return ctx, func(result *error) {
		err := *result
		if cause := recover(); cause != nil {
			defer panic(cause)
			err = failure.OutcomeUnknown(errors.New("the call panicked"))
		}
		outcome := telemetry.OutcomeOf(err)
		r.instruments.kind.Called(string(v), outcome, r.now().Sub(began))
		if span == nil {
			return
		}
		span.SetAttributes(attribute.String("bowline.kind", r.instruments.name), attribute.String("bowline.outcome", string(outcome)))
		if err != nil {
			span.SetStatus(codes.Error, string(outcome))
		}
		span.End()
	}
}

// A sighting is what the last observation of a pass found.
type sighting struct {
	observed    bool
	observation ExternalObservation
	// chosen are the parameters as Observe completed them with what the external system chose.
	chosen tree
}

// observe observes the external resource (R21, R26): once per pass, and once more after the pass changed it, so that one pass
// reports the whole story. One without a name does not exist yet, as far as can be known (R69).
func (r *Reconciler) observe(ctx context.Context, p *pass) outcome {
	var o ExternalObservation
	if meta.GetExternalName(p.managed) != "" {
		if given := r.giveDetails(ctx, p); given.End != flow.Continue {
			return given
		}
		var err error
		if o, err = read(ctx, r, verbObserve, p.managed, p.external.Observe); err == nil && o.ResourceLateInitialized {
			err = p.takeChosen()
		}
		if err != nil {
			return failed(ReasonCannotObserve, callFailed("observing", err))
		}
	}
	p.observation, p.observed = o, true
	p.memory.seen = p.memory.seen || o.ResourceExists
	r.redactDrift(ctx, p)
	return flow.Next()
}
