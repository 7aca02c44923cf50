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

// An instrumentedClient measures the calls of the client that it wraps. Optional interfaces are found by Unwrap.
type instrumentedClient struct {
	ExternalClient
	r *Reconciler
}

// Unwrap gives access to the author's client.
func (c instrumentedClient) Unwrap() any { return c.ExternalClient }

func (c instrumentedClient) Observe(ctx context.Context, mg resource.Managed) (observation ExternalObservation, err error) {
	defer keepName(mg)()
	ctx, call := c.r.beginCall(ctx, verbObserve)
	defer call.end(&err)
	return c.ExternalClient.Observe(ctx, mg)
}

func (c instrumentedClient) Create(ctx context.Context, mg resource.Managed) (creation ExternalCreation, err error) {
	ctx, call := c.r.beginCall(ctx, verbCreate)
	defer call.end(&err)
	return c.ExternalClient.Create(ctx, mg)
}

func (c instrumentedClient) Update(ctx context.Context, mg resource.Managed) (update ExternalUpdate, err error) {
	defer keepName(mg)()
	ctx, call := c.r.beginCall(ctx, verbUpdate)
	defer call.end(&err)
	return c.ExternalClient.Update(ctx, mg)
}

func (c instrumentedClient) Delete(ctx context.Context, mg resource.Managed) (err error) {
	ctx, call := c.r.beginCall(ctx, verbDelete)
	defer call.end(&err)
	return c.ExternalClient.Delete(ctx, mg)
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

// connected makes the instrumented client of a pass.
func (r *Reconciler) connected(ctx context.Context, mg resource.Managed) (_ ExternalClient, err error) {
	ctx, call := r.beginCall(ctx, verbConnect)
	defer call.end(&err)
	external, err := r.connecter.Connect(ctx, mg)
	return instrumentedClient{ExternalClient: external, r: r}, err
}

// found calls a finder.
func (r *Reconciler) found(ctx context.Context, finder CreateFinder, mg resource.Managed) (name string, err error) {
	ctx, call := r.beginCall(ctx, verbFind)
	defer call.end(&err)
	return finder.FindCreated(ctx, mg)
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
