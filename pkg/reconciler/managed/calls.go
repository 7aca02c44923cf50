// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// Verbs of calls that do not run in the background.
const (
	verbConnect    verb = "connect"
	verbObserve    verb = "observe"
	verbFind       verb = "find"
	verbDisconnect verb = "disconnect"
)

// call creates, updates or deletes the external resource of an object.
func (r *Reconciler) call(ctx context.Context, v verb, external ExternalClient, mg resource.Managed) (details ConnectionDetails, err error) {
	ctx, m := r.beginCall(ctx, v)
	defer m.end(&err)
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
func read[R any](ctx context.Context, r *Reconciler, v verb, mg resource.Managed, do func(context.Context, resource.Managed) (R, error)) (result R, err error) {
	defer keepName(mg)()
	ctx, m := r.beginCall(ctx, v)
	defer m.end(&err)
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

// A measurement is of one call to the external system.
type measurement struct {
	r     *Reconciler
	verb  verb
	began time.Time
	span  trace.Span // nil where the pass has none that is recorded
}

// beginCall begins to measure a call.
func (r *Reconciler) beginCall(ctx context.Context, v verb) (context.Context, measurement) {
	m := measurement{r: r, verb: v, began: r.now()}
	if trace.SpanFromContext(ctx).IsRecording() {
		ctx, m.span = r.instruments.tracer.Start(ctx, string(v), trace.WithSpanKind(trace.SpanKindClient))
	}
	return ctx, m
}

// end, which is to be deferred, records the call, also one that panics, whose outcome is unknown. The text of the error is not
// recorded: it may hold a secret that is not known as one yet. The span of the pass has it, redacted.
func (m measurement) end(result *error) {
	err := *result
	if cause := recover(); cause != nil {
		defer panic(cause)
		err = failure.OutcomeUnknown(errors.New("the call panicked"))
	}
	outcome := telemetry.OutcomeOf(err)
	m.r.instruments.kind.Called(string(m.verb), outcome, m.r.now().Sub(m.began))
	if m.span == nil {
		return
	}
	m.span.SetAttributes(attributeKind.String(m.r.instruments.name), attributeOutcome.String(string(outcome)))
	if err != nil {
		m.span.SetStatus(codes.Error, string(outcome))
	}
	m.span.End()
}
