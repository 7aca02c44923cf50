// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/test/bench/report"
	"github.com/bowline-dev/bowline/test/bench/usage"
)

// phase measures the cost of what do does, while controllers run.
func (b *bench) phase(ctx context.Context, phase string, p *plane, c *controllers, do func(context.Context) error) error {
	ctx, cancel := b.limited(ctx)
	defer cancel()
	s, err := b.beginSpan(ctx, phase, p, c)
	if err == nil {
		err = do(ctx)
	}
	if err == nil {
		err = s.end(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", phase, err)
	}
	return nil
}

// A span is a phase that is measured.
type span struct {
	*bench
	phase   string
	c       *controllers // nil if none run
	before  counts
	machine float64 // CPU seconds at the begin
	meters  []*usage.Meter
}

// beginSpan begins to measure the API server, the harness, and the controllers if there are any.
func (b *bench) beginSpan(ctx context.Context, phase string, p *plane, c *controllers) (s *span, err error) {
	s = &span{bench: b, phase: phase, meters: []*usage.Meter{usage.NewMeter("API server", p.server.PID()), usage.NewMeter(report.Harness, os.Getpid())}}
	if c != nil {
		if s.before, err = c.counts(ctx); err != nil {
			return nil, err
		}
		if err := s.add(ctx, c, usage.NewMeter("controllers", c.PID())); err != nil {
			return nil, err
		}
	}
	s.machine, err = usage.MachineCPU()
	return s, err
}

// started adds controllers that were started within the span: all that they counted and used since belongs to it.
func (s *span) started(ctx context.Context, c *controllers) error {
	m := usage.NewMeter("controllers", c.PID())
	m.CountAll()
	return s.add(ctx, c, m)
}

func (s *span) add(ctx context.Context, c *controllers, m *usage.Meter) error {
	s.c, s.meters = c, append([]*usage.Meter{m}, s.meters...)
	return s.startProfile(ctx, s.phase, c)
}

// end adds the figures to the report.
func (s *span) end(ctx context.Context) error {
	end, err := usage.MachineCPU()
	if err != nil {
		return err
	}
	if s.c != nil {
		after, err := s.c.counts(ctx)
		if err != nil {
			return err
		}
		s.addCounts(s.phase, s.before, after)
	}
	rest := end - s.machine
	for _, m := range s.meters {
		used, err := m.Stop()
		if err != nil {
			return err
		}
		rest -= used.CPU
		s.report.Add(s.phase, m.Process+": CPU seconds", used.CPU)
		if m.Process != report.Harness {
			s.report.Add(s.phase, m.Process+": peak MB resident", used.Resident)
			s.report.Add(s.phase, m.Process+": peak MB anonymous", used.Anonymous)
		}
	}
	s.report.Add(s.phase, "everything else: CPU seconds", max(rest, 0))
	if s.c == nil || s.cpuProfile == "" {
		return nil
	}
	return s.c.ask(ctx, http.MethodDelete, "/profile", nil)
}

// startProfile profiles the controllers, if that was chosen.
func (b *bench) startProfile(ctx context.Context, phase string, c *controllers) error {
	if b.cpuProfile == "" {
		return nil
	}
	file, err := filepath.Abs(filepath.Join(b.cpuProfile, phase+".pprof"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return c.ask(ctx, http.MethodPost, "/profile?file="+url.QueryEscape(file), nil)
}

// addCounts adds the controllers' requests and external calls per object.
func (b *bench) addCounts(phase string, before, after counts) {
	add := func(what string, n int) {
		if n > 0 {
			b.report.Add(phase, what+" per object", float64(n)/float64(b.objects))
		}
	}
	total := 0
	for what, n := range after.Requests {
		if !strings.HasPrefix(what, "watch ") { // a watch is one request for as long as it lasts
			total += n - before.Requests[what]
		}
	}
	b.report.Add(phase, "API requests per object", float64(total)/float64(b.objects))
	for _, what := range slices.Sorted(maps.Keys(after.Requests)) {
		add("  "+what, after.Requests[what]-before.Requests[what])
	}
	for _, what := range slices.Sorted(maps.Keys(after.Calls)) {
		add("external calls: "+what, after.Calls[what]-before.Calls[what])
	}
}
