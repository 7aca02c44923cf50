// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// A Type is what Prometheus calls the type of a metric.
type Type string

// Types of metrics.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// A Definition is what is fixed about a metric.
type Definition struct {
	// Name as Prometheus has it, with the prefix bowline_ and, where it has one, the unit.
	Name string
	// Type of the metric.
	Type Type
	// Labels in the order in which values are given.
	Labels []string
	// Help describes what is counted or timed.
	Help string

	buckets []float64 // upper bounds, in seconds; histograms only
}

// The label kind is the kind as kubectl shows it, such as network.network.fcp.crossplane.io, which is also the name of its
// controller.
const labelKind = "kind"

func reconciles() Definition {
	return Definition{Name: "bowline_reconciles_total", Type: Counter, Labels: []string{labelKind, "outcome", "reason"},
		Help: "Passes over objects, by outcome and, for errors, by the reason in conditions and events."}
}

func calls() Definition {
	return Definition{Name: "bowline_external_call_duration_seconds", Type: Histogram, Labels: []string{labelKind, "verb", "outcome"},
		Help:    "Duration of calls to external systems, including the time that limits delayed them.",
		buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}}
}

func throttled() Definition {
	return Definition{Name: "bowline_throttled_calls_total", Type: Counter, Labels: []string{labelKind},
		Help: "Calls that the external system or the limits of the ProviderConfig refused for the moment."}
}

func ready() Definition {
	return Definition{Name: "bowline_time_to_ready_seconds", Type: Histogram, Labels: []string{labelKind},
		Help:    "Time from the creation of an object until it is Ready for the first time.",
		buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600}}
}

func drifted() Definition {
	return Definition{Name: "bowline_drifted_objects", Type: Gauge, Labels: []string{labelKind},
		Help: "Objects whose external resource differs from the spec and stays different, because no update settles it or none is permitted."}
}

func requests() Definition {
	return Definition{Name: "bowline_api_requests_total", Type: Counter, Labels: []string{"verb", "resource", "code"},
		Help: "Requests of the controllers to the API server, by class of the response: 2xx to 5xx, or error without a response."}
}

// Definitions returns all metrics of this package, in the order in which the guide lists them.
func Definitions() []Definition {
	return []Definition{reconciles(), calls(), throttled(), ready(), drifted(), requests()}
}

func (d Definition) counter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
}

func (d Definition) gauge() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, d.Labels)
}

func (d Definition) histogram() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: d.buckets}, d.Labels)
}

// registered registers a metric, or returns the one that was registered before under the same definition.
func registered[C prometheus.Collector](with prometheus.Registerer, metric C) (C, error) {
	err := with.Register(metric)
	if err == nil {
		return metric, nil
	}
	if twice, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if have, ok := twice.ExistingCollector.(C); ok {
			return have, nil
		}
	}
	return metric, fmt.Errorf("registering metrics: %w", err)
}
