// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// instruments are what a reconciler records with.
type instruments struct {
	metrics *telemetry.Metrics
	spans   trace.TracerProvider

	kind   *telemetry.Kind
	name   string // of the kind
	tracer trace.Tracer
}

// mustBegin sets what no option set. It fails only where the program registered a metric of our names.
func (i *instruments) mustBegin(kind string) {
	if i.metrics == nil {
		m, err := telemetry.NewMetrics(ctrlmetrics.Registry)
		if err != nil {
			panic(fmt.Sprintf("managed kind %s: %v", kind, err))
		}
		i.metrics = m
	}
	if i.spans == nil {
		i.spans = otel.GetTracerProvider()
	}
	i.name, i.kind, i.tracer = kind, i.metrics.Kind(kind), i.spans.Tracer("github.com/bowline-dev/bowline/pkg/reconciler/managed")
}

// beginCall begins to measure a call. end, which is to be deferred, records it, also if it panics: its outcome is then unknown.
// Only the span of the pass has the text of the error, redacted: it may hold a secret that is not known as one yet.
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

// neverReady is true for an object that was never Ready. In doubt it was: a missing time harms less than two.
func (p *pass) neverReady() bool {
	switch p.ready.Reason {
	case "": // new, unless its status was lost
		return !meta.FinalizerExists(p.managed, Finalizer)
	case xpv1.ReasonCreating: // for the first time, unless the resource was seen before this creation began
		seen := p.inSync().LastTransitionTime
		return seen.IsZero() || !seen.Time.Before(meta.GetExternalCreatePending(p.managed))
	default:
		return false
	}
}

// measureEnd records how a pass ended.
func (r *Reconciler) measureEnd(ctx context.Context, p *pass, o outcome) {
	if !o.End.Bad() {
		o.Reason = "" // that of an error only
	}
	r.instruments.kind.Reconciled(o.End.String(), string(o.Reason))
	r.instruments.kind.Drifted(client.ObjectKeyFromObject(p.managed), o.End != flow.Gone && p.drifted())
	r.describeSpan(ctx, p, o)
}

// describeSpan sets on the span of a pass its object, which metrics do not have, and how it ended: at the end, since the external name
// may be known only then. The error of the outcome is redacted already.
func (r *Reconciler) describeSpan(ctx context.Context, p *pass, o outcome) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		attribute.String("bowline.kind", r.instruments.name),
		attribute.String("bowline.pass", string(controller.ReconcileIDFromContext(ctx))),
		attribute.String("bowline.namespace", p.managed.GetNamespace()),
		attribute.String("bowline.name", p.managed.GetName()),
		attribute.String("bowline.external_name", meta.GetExternalName(p.managed)),
		attribute.String("bowline.outcome", o.End.String()),
		attribute.String("bowline.reason", string(o.Reason)),
	)
	if o.End.Bad() {
		span.SetStatus(codes.Error, o.Err.Error())
	}
}

// Levels of the log, above 0, which is what people should see.
const (
	logRepeats = 1 // what was logged before
	logPasses  = 2 // the end of each pass
)

// logOf is the logger of a pass over an object. Every line has the object, its external name and the pass, which spans and
// the lines of controller-runtime have, too.
func (r *Reconciler) logOf(ctx context.Context, mg resource.Managed) logr.Logger {
	name := mg.GetName()
	if namespace := mg.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return r.log.WithValues("object", name, "externalName", meta.GetExternalName(mg), "pass", controller.ReconcileIDFromContext(ctx))
}

// logPanic logs a panic of the provider's code during a call, empty for none in particular.
func (r *Reconciler) logPanic(ctx context.Context, mg resource.Managed, during verb, cause any, secrets func(context.Context) [][]byte) {
	r.instruments.kind.Panicked()
	detached, cancel := detach(ctx)
	defer cancel()
	text := redact.Text(fmt.Sprint(cause), secrets(detached))
	r.logOf(ctx, mg).Error(nil, "The provider's code panicked", "call", during, "panic", text, "stack", string(debug.Stack()))
}

// logOutcome logs how a pass ended: at level 0 errors, once per change, their end, and whether the object is ready.
func (r *Reconciler) logOutcome(ctx context.Context, p *pass, o outcome, news bool) {
	log := r.logOf(ctx, p.managed)
	flow.LogReady(log, p.ready, p.managed.GetCondition(xpv1.TypeReady))
	switch {
	case !o.End.Bad() && p.synced.Reason == xpv1.ReasonReconcileError && !p.isRetrying(o):
		log.Info("Reconciled again after errors", "outcome", o.End.String())
	case !o.End.Bad():
		log.V(logPasses).Info("Reconciled", "outcome", o.End.String())
	case news:
		log.Info("Cannot reconcile", "outcome", o.End.String(), "reason", o.Reason, "error", o.Err.Error())
	default:
		log.V(logRepeats).Info("Cannot reconcile", "outcome", o.End.String(), "reason", o.Reason, "error", o.Err.Error())
	}
}
