// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry counts and times what the managed runtime does, for Prometheus: docs/guides/observability.md lists all metrics.
//
// Metrics are about kinds, never about single objects, so that the number of time series depends on what is installed. Logs, spans
// and conditions identify the object; no text of a user or an external system becomes a label.
//
//	m, err := telemetry.NewMetrics(metrics.Registry) // of controller-runtime; asking twice gives the same metrics
//	config.Wrap(m.WrapTransport)                     // counts requests, and records a span of each write within a traced pass
package telemetry

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/failure"
)

// DefaultListen is where programs serve metrics unless a person chooses another address.
const DefaultListen = "127.0.0.1:8081"

// Metrics are the metrics of one registry.
type Metrics struct {
	reconciles *prometheus.CounterVec
	calls      *prometheus.HistogramVec
	throttled  *prometheus.CounterVec
	ready      *prometheus.HistogramVec
	drifted    *prometheus.GaugeVec
	requests   *prometheus.CounterVec
	panics     *prometheus.CounterVec
	rotations  *prometheus.CounterVec
	claims     *objects
	managed    *objects
	configs    *objects
	terraform  terraform
}

// NewMetrics returns the metrics of a registry, which it registers there unless they are registered already. An error means
// that the registry holds a metric of one of their names that is another.
func NewMetrics(with prometheus.Registerer) (*Metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &Metrics{}
	var errs [12]error
	m.reconciles, errs[0] = registered(with, counter("bowline_reconciles_total",
		"Passes over objects, by outcome and, for errors, by the reason in conditions and events.", "kind", "outcome", "reason"))
	m.calls, errs[1] = registered(with, histogram("bowline_external_call_duration_seconds",
		"Duration of calls to external systems, including the time that limits delayed them.",
		[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "kind", "verb", "outcome"))
	m.throttled, errs[2] = registered(with, counter("bowline_throttled_calls_total",
		"Calls that the external system or the limits of the ProviderConfig refused for the moment.", "kind"))
	m.ready, errs[3] = registered(with, histogram("bowline_time_to_ready_seconds",
		"Time from the creation of an object until it is Ready for the first time.",
		[]float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600}, "kind"))
	m.drifted, errs[4] = registered(with, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "bowline_drifted_objects",
		Help: "Objects whose external resource differs from the spec and stays different, because no update settles it or none is permitted."},
		[]string{"kind"}))
	m.requests, errs[5] = registered(with, counter("bowline_api_requests_total",
		"Requests of the controllers to the API server, by class of the response: 2xx to 5xx, or error without a response.",
		"verb", "resource", "code"))
	m.panics, errs[6] = registered(with, counter("bowline_panics_total",
		"Panics of the provider's code, each of which is a bug in the provider and an error of the object.", "kind"))
	m.claims, errs[7] = registered(with, newObjects("bowline_claims", "Claims, by state and by the reason of the condition that shows it."))
	m.managed, errs[8] = registered(with, newObjects("bowline_managed_resources",
		"Managed resources, by state and by the reason of the condition that shows it."))
	m.configs, errs[9] = registered(with, newObjects("bowline_provider_configs",
		"ProviderConfigs, by state and by the reason of the condition that shows it."))
	m.rotations, errs[10] = registered(with, counter("bowline_credential_rotations_total",
		"Rotations of the credentials in connection Secrets that are complete, and attempts that the external system did not accept.",
		"kind", "outcome"))
	m.terraform, errs[11] = newTerraform(with)
	return m, errors.Join(errs[:]...)
}

func registered[C prometheus.Collector](with prometheus.Registerer, metric C) (C, error) {
	err := with.Register(metric)
	if twice, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if have, ok := twice.ExistingCollector.(C); ok {
			return have, nil
		}
	}
	if err != nil {
		err = fmt.Errorf("registering metrics: %w", err)
	}
	return metric, err
}

// Kind returns what records about the objects of a kind, named as kubectl shows it, such as bucket.example.org. From then on
// it is shown even where nothing happens.
func (m *Metrics) Kind(name string) *Kind {
	m.panics.WithLabelValues(name)
	m.throttled.WithLabelValues(name)
	m.ready.WithLabelValues(name)
	m.drifted.WithLabelValues(name)
	m.rotations.WithLabelValues(name, rotationDone)
	m.rotations.WithLabelValues(name, rotationFailed)
	return &Kind{metrics: m, name: name, adrift: map[types.NamespacedName]struct{}{}}
}

// A Kind records what happens to the objects of one kind. Its methods may be called at the same time.
type Kind struct {
	metrics *Metrics
	name    string

	mu     sync.Mutex
	adrift map[types.NamespacedName]struct{} // counted as drifted
}

// Reconciled records that a pass ended. The outcome is one of few words; the reason is that of the error, empty for none.
func (k *Kind) Reconciled(outcome, reason string) {
	k.metrics.reconciles.WithLabelValues(k.name, outcome, reason).Inc()
}

// Outcomes of rotations.
const rotationDone, rotationFailed = "done", "failed"

// Rotated records a rotation of credentials, which is complete, or which the external system did not accept and that is retried.
func (k *Kind) Rotated(complete bool) {
	outcome := rotationFailed
	if complete {
		outcome = rotationDone
	}
	k.metrics.rotations.WithLabelValues(k.name, outcome).Inc()
}

// Panicked records a panic of the provider's code.
func (k *Kind) Panicked() { k.metrics.Panicked(k.name) }

// Panicked records a panic of the provider's code about an object of a kind, named as by Kind.
func (m *Metrics) Panicked(kind string) { m.panics.WithLabelValues(kind).Inc() }

// A CallOutcome is what became of a call to an external system.
type CallOutcome string

// Outcomes of calls.
const (
	CallOK        CallOutcome = "ok"        // a call that was answered as asked, be it that there is nothing
	CallThrottled CallOutcome = "throttled" // a call that was put off until later
	CallRejected  CallOutcome = "rejected"  // a call that fails each time that it is made like this
	CallUnknown   CallOutcome = "unknown"   // a call whose outcome is unknown: it timed out, or its answer was lost
	CallFailed    CallOutcome = "error"     // a call that failed otherwise
)

// OutcomeOf is the outcome of a call that ended with err.
func OutcomeOf(err error) CallOutcome {
	if err == nil {
		return CallOK
	}
	_, asked := failure.RetryAfter(err)
	switch {
	case asked:
		return CallThrottled
	case failure.IsTerminal(err), errors.Is(err, reconcile.TerminalError(nil)):
		return CallRejected
	case failure.IsOutcomeUnknown(err):
		return CallUnknown
	default:
		return CallFailed
	}
}

// Called records a call to the external system and how long it took. The verb is one of few words, such as observe.
func (k *Kind) Called(verb string, outcome CallOutcome, took time.Duration) {
	k.metrics.calls.WithLabelValues(k.name, verb, string(outcome)).Observe(took.Seconds())
	if outcome == CallThrottled {
		k.metrics.throttled.WithLabelValues(k.name).Inc()
	}
}

// Ready records that an object became Ready for the first time, so long after its creation. Only the caller can tell that it
// was the first time.
func (k *Kind) Ready(after time.Duration) {
	k.metrics.ready.WithLabelValues(k.name).Observe(max(after, 0).Seconds())
}

// Drifted records whether an object is in drift now. One that is gone is not.
func (k *Kind) Drifted(object types.NamespacedName, now bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, before := k.adrift[object]
	switch {
	case now && !before:
		k.adrift[object] = struct{}{}
		k.metrics.drifted.WithLabelValues(k.name).Inc()
	case before && !now:
		delete(k.adrift, object)
		k.metrics.drifted.WithLabelValues(k.name).Dec()
	}
}
