// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// WithMetrics sets where the reconciler counts and times what it does. Default: controller-runtime's registry, which its
// managers serve.
func WithMetrics(m *telemetry.Metrics) ReconcilerOption {
	return func(r *Reconciler) { r.instruments.metrics = m }
}

// WithTracerProvider sets who records a span of each pass and of each call to the external system. Default: OpenTelemetry's
// global provider, which records nothing unless the program sets another.
func WithTracerProvider(p trace.TracerProvider) ReconcilerOption {
	return func(r *Reconciler) { r.instruments.spans = p }
}

// instruments are what a reconciler records with.
type instruments struct {
	metrics *telemetry.Metrics
	spans   trace.TracerProvider

	kind   *telemetry.Kind
	name   string // of the kind
	tracer trace.Tracer
}

// tracerName is the scope of our spans.
const tracerName = "github.com/bowline-dev/bowline/pkg/reconciler/managed"

// mustBegin takes what no option set. It fails only where the program registered a metric of our names.
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
	i.name, i.kind, i.tracer = kind, i.metrics.Kind(kind), i.spans.Tracer(tracerName)
}

// A birth says whether an object still has its first time to be Ready before it.
type birth int

const (
	birthUnknown birth = iota // not looked at by this process
	birthAwaited              // it was never Ready
	birthPast                 // it was, or may have been before this process looked at it
)

// expectBirth finds out, once for each object and process, whether the object was ever Ready. In doubt it was: a time that is
// not measured harms less than one that is measured twice.
func (p *pass) expectBirth() {
	if p.memory.birth != birthUnknown {
		return
	}
	p.memory.birth = birthPast
	switch p.ready.Reason {
	case "": // new, unless its status was lost
		if !meta.FinalizerExists(p.managed, Finalizer) {
			p.memory.birth = birthAwaited
		}
	case xpv1.ReasonCreating: // for the first time, unless the resource was seen before this creation began
		seen := p.inSync().LastTransitionTime
		if pending := meta.GetExternalCreatePending(p.managed); seen.IsZero() || !seen.Time.Before(pending) {
			p.memory.birth = birthAwaited
		}
	}
}

// measureBirth records how long it took until an object was Ready for the first time, once its status says so.
func (r *Reconciler) measureBirth(p *pass) {
	if p.memory.birth != birthAwaited || p.managed.GetCondition(xpv1.TypeReady).Status != corev1.ConditionTrue {
		return
	}
	p.memory.birth = birthPast
	r.instruments.kind.Ready(r.now().Sub(p.managed.GetCreationTimestamp().Time))
}

// measureEnd records how a pass ended.
func (r *Reconciler) measureEnd(ctx context.Context, p *pass, o outcome) {
	r.instruments.kind.Reconciled(o.end.String(), string(o.reason))
	r.instruments.kind.Drifted(client.ObjectKeyFromObject(p.managed), o.end != gone && p.drifted())
	r.describeSpan(ctx, p, o)
}

// String is the ending as metrics, spans and logs call it.
func (e ending) String() string {
	return [...]string{goOn: "done", waiting: "waiting", paused: "paused", stopped: "stopped", rejected: "rejected",
		throttled: "throttled", failed: "failed", conflict: "conflict", gone: "gone"}[e]
}
