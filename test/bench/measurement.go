// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/test/bench/usage"
)

// A measurement is the cost of one phase.
type measurement struct {
	b           *bench
	phase       string
	controllers *controllers // nil in a floor

	server, ours, harness *usage.Meter
	machine               time.Duration
	before                counts
}

func (b *bench) begin(ctx context.Context, phase string, p *plane, c *controllers) (*measurement, error) {
	m := &measurement{b: b, phase: phase, controllers: c}
	var err error
	if c != nil {
		if m.before, err = c.counts(ctx); err != nil {
			return nil, err
		}
		if m.ours, err = usage.Measure(c.process.PID()); err != nil {
			return nil, err
		}
		if b.cpuProfile != "" {
			if err := m.startProfile(ctx); err != nil {
				return nil, err
			}
		}
	}
	if m.server, err = usage.Measure(p.server.PID()); err != nil {
		return nil, err
	}
	if m.harness, err = usage.Measure(os.Getpid()); err != nil {
		return nil, err
	}
	m.machine, err = usage.MachineCPU()
	return m, err
}

func (m *measurement) startProfile(ctx context.Context) error {
	dir, err := filepath.Abs(m.b.cpuProfile)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return m.controllers.startProfile(ctx, filepath.Join(dir, m.phase+".pprof"))
}

// end adds the costs to the report.
func (m *measurement) end(ctx context.Context) error {
	machine, err := usage.MachineCPU()
	if err != nil {
		return err
	}
	rest := machine - m.machine
	if m.ours != nil {
		if err := m.countUp(ctx); err != nil {
			return err
		}
		if err := m.use("controllers", m.ours, &rest); err != nil {
			return err
		}
	}
	if err := errors.Join(m.use("API server", m.server, &rest), m.use("harness", m.harness, &rest)); err != nil {
		return err
	}
	m.b.report.Add(m.phase, "everything else: CPU seconds", max(rest, 0).Seconds())
	if m.ours != nil && m.b.cpuProfile != "" {
		return m.controllers.stopProfile(ctx)
	}
	return nil
}

// countUp adds the controllers' requests and external calls per object.
func (m *measurement) countUp(ctx context.Context) error {
	after, err := m.controllers.counts(ctx)
	if err != nil {
		return err
	}
	total := 0
	for what, n := range after.Requests {
		if !strings.HasPrefix(what, "watch ") { // a watch is one request for as long as it lasts
			total += n - m.before.Requests[what]
		}
	}
	m.perObject("API requests", total)
	for _, what := range slices.Sorted(maps.Keys(after.Requests)) {
		if n := after.Requests[what] - m.before.Requests[what]; n > 0 {
			m.perObject("  "+what, n)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(after.Calls)) {
		if n := after.Calls[what] - m.before.Calls[what]; n > 0 {
			m.perObject("external calls: "+what, n)
		}
	}
	return nil
}

func (m *measurement) perObject(what string, n int) {
	m.b.report.Add(m.phase, what+" per object", float64(n)/float64(m.b.objects))
}

// use adds the usage of a process, and subtracts its processor time from the rest of the machine's. Of the harness only the
// processor time counts.
func (m *measurement) use(process string, meter *usage.Meter, rest *time.Duration) error {
	u, err := meter.Stop()
	if err != nil {
		return err
	}
	*rest -= u.CPU
	m.b.report.Add(m.phase, process+": CPU seconds", u.CPU.Seconds())
	if meter != m.harness {
		m.b.report.Add(m.phase, process+": peak MB resident", megabytes(u.Resident))
		m.b.report.Add(m.phase, process+": peak MB anonymous", megabytes(u.Anonymous))
	}
	return nil
}

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
