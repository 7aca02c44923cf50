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
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"
)

// sampling is how often a meter reads memory. The kernel has no peak of anonymous memory.
const sampling = 100 * time.Millisecond

// harness is the name of this process in figures.
const harness = "harness"

// phase measures the cost of what do does.
func (b *bench) phase(ctx context.Context, phase string, p *plane, c *controllers, do func(context.Context) error) (err error) {
	ctx, cancel := b.limited(ctx)
	defer cancel()
	meters := []*meter{newMeter("API server", p.server.PID()), newMeter(harness, os.Getpid())}
	var before, after counts
	if c != nil {
		if before, err = c.counts(ctx); err != nil {
			return err
		}
		if err := b.startProfile(ctx, phase, c); err != nil {
			return err
		}
		meters = append([]*meter{newMeter("controllers", c.PID())}, meters...)
	}
	begin, err := machineCPU()
	if err != nil {
		return err
	}
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s: %w", phase, err)
	}
	end, err := machineCPU()
	if err != nil {
		return err
	}
	if c != nil {
		if after, err = c.counts(ctx); err != nil {
			return err
		}
		b.addCounts(phase, before, after)
	}
	rest := end - begin
	for _, m := range meters {
		used, err := m.stop()
		if err != nil {
			return err
		}
		rest -= used.cpu
		b.report.add(phase, m.process+": CPU seconds", used.cpu)
		if m.process != harness {
			b.report.add(phase, m.process+": peak MB resident", used.resident)
			b.report.add(phase, m.process+": peak MB anonymous", used.anonymous)
		}
	}
	b.report.add(phase, "everything else: CPU seconds", max(rest, 0))
	if c == nil || b.cpuProfile == "" {
		return nil
	}
	return c.ask(ctx, http.MethodDelete, "/profile", nil)
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
			b.report.add(phase, what+" per object", float64(n)/float64(b.objects))
		}
	}
	total := 0
	for what, n := range after.Requests {
		if !strings.HasPrefix(what, "watch ") { // a watch is one request for as long as it lasts
			total += n - before.Requests[what]
		}
	}
	b.report.add(phase, "API requests per object", float64(total)/float64(b.objects))
	for _, what := range slices.Sorted(maps.Keys(after.Requests)) {
		add("  "+what, after.Requests[what]-before.Requests[what])
	}
	for _, what := range slices.Sorted(maps.Keys(after.Calls)) {
		add("external calls: "+what, after.Calls[what]-before.Calls[what])
	}
}

// A usage is processor time in seconds, and memory in MB: all that is in RAM, and the part that no file holds, heaps and stacks.
type usage struct{ cpu, resident, anonymous float64 }

// readUsage returns what a process used so far and has now.
func readUsage(pid int) (usage, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return usage{}, err
	}
	stat, err := p.Stat()
	if err != nil {
		return usage{}, err
	}
	status, err := p.NewStatus()
	const megabyte = 1 << 20
	return usage{cpu: stat.CPUTime(), resident: float64(status.VmRSS) / megabyte, anonymous: float64(status.RssAnon) / megabyte}, err
}

// machineCPU returns the processor time that the machine has spent on anything at all. The time of guests is part of User and Nice.
func machineCPU() (seconds float64, err error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	stat, err := fs.Stat()
	t := stat.CPUTotal
	return t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal, err
}

// A meter measures what a process uses until stop is called.
type meter struct {
	process string
	pid     int
	end     chan struct{}
	ended   sync.WaitGroup
	before  usage
	last    usage // with the peaks of memory so far
	err     error // of the last read
}

func newMeter(process string, pid int) *meter {
	m := &meter{process: process, pid: pid, end: make(chan struct{})}
	m.read()
	m.before = m.last
	m.ended.Go(func() { wait.Until(m.read, sampling, m.end) })
	return m
}

func (m *meter) read() {
	now, err := readUsage(m.pid)
	m.last = usage{now.cpu, max(m.last.resident, now.resident), max(m.last.anonymous, now.anonymous)}
	m.err = err
}

// stop returns the processor time since the begin, and the peaks of memory.
func (m *meter) stop() (usage, error) {
	close(m.end)
	m.ended.Wait()
	m.read()
	m.last.cpu -= m.before.cpu
	return m.last, m.err
}
