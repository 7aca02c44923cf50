// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// terraform are the metrics of the processes of Terraform providers.
type terraform struct {
	processes *prometheus.GaugeVec
	restarts  *prometheus.CounterVec
	memory    *prometheus.GaugeVec
	calls     *prometheus.HistogramVec
}

func newTerraform(with prometheus.Registerer) (t terraform, err error) {
	const provider = "provider"
	gauge := func(name, help string) (*prometheus.GaugeVec, error) {
		return registered(with, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{provider}))
	}
	var errs [4]error
	t.processes, errs[0] = gauge("bowline_terraform_processes", "Processes of Terraform providers that run, one for each configuration in use.")
	t.memory, errs[1] = gauge("bowline_terraform_process_memory_bytes",
		"Resident memory of the processes of Terraform providers and of their journals, read once a minute, on Linux only.")
	t.restarts, errs[2] = registered(with, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "bowline_terraform_process_restarts_total",
		Help: "Starts of processes of Terraform providers after they ended by themselves."}, []string{provider}))
	t.calls, errs[3] = registered(with, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "bowline_terraform_call_duration_seconds",
		Help:    "Duration of calls of Terraform's plugin protocol.",
		Buckets: []float64{.001, .005, .025, .1, .5, 1, 5, 30, 120, 600, 3600}}, []string{provider, "call", "outcome"}))
	return t, errors.Join(errs[:]...)
}

// Terraform returns what records about a Terraform provider, named as its TerraformProvider. From then on it is shown even where nothing
// happens.
func (m *Metrics) Terraform(name string) *Terraform {
	m.terraform.restarts.WithLabelValues(name)
	t := &Terraform{metrics: m.terraform, name: name}
	t.Processes(0, 0)
	return t
}

// Terraform records what happens to one Terraform provider. Its methods may be called at the same time.
type Terraform struct {
	metrics terraform
	name    string
}

// Processes records how many processes run, and their memory in bytes.
func (t *Terraform) Processes(running int, memory int64) {
	t.metrics.processes.WithLabelValues(t.name).Set(float64(running))
	t.metrics.memory.WithLabelValues(t.name).Set(float64(memory))
}

// Restarted records the start of a process after the one before ended by itself.
func (t *Terraform) Restarted() { t.metrics.restarts.WithLabelValues(t.name).Inc() }

// Called records a call, by its name in the protocol, what became of it, in one of few words, and how long it took.
func (t *Terraform) Called(call, outcome string, took time.Duration) {
	t.metrics.calls.WithLabelValues(t.name, call, outcome).Observe(took.Seconds())
}

// Forget removes the provider from the metrics, after its TerraformProvider was deleted.
func (t *Terraform) Forget() {
	of := prometheus.Labels{"provider": t.name}
	t.metrics.processes.DeletePartialMatch(of)
	t.metrics.memory.DeletePartialMatch(of)
	t.metrics.restarts.DeletePartialMatch(of)
	t.metrics.calls.DeletePartialMatch(of)
}
