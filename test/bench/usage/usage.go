// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage measures processor time and memory of processes, and names the machine.
package usage

import (
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/wait"
)

// sampling is how often a meter reads memory. The kernel has no peak of anonymous memory.
const sampling = 100 * time.Millisecond

// A Usage is processor time in seconds, and memory in MB: all that is in RAM, and the part that no file holds, heaps and stacks.
type Usage struct{ CPU, Resident, Anonymous float64 }

// Read returns what a process used so far and has now.
func Read(pid int) (Usage, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return Usage{}, err
	}
	stat, err := p.Stat()
	if err != nil {
		return Usage{}, err
	}
	status, err := p.NewStatus()
	const megabyte = 1 << 20
	return Usage{CPU: stat.CPUTime(), Resident: float64(status.VmRSS) / megabyte, Anonymous: float64(status.RssAnon) / megabyte}, err
}

// MachineCPU returns the processor time that the machine has spent on anything at all. The time of guests is part of User and Nice.
func MachineCPU() (seconds float64, err error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	stat, err := fs.Stat()
	t := stat.CPUTotal
	return t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal, err
}

// A Meter measures what a process uses until Stop is called.
type Meter struct {
	Process string // its name in figures
	pid     int
	end     chan struct{}
	ended   sync.WaitGroup
	before  Usage
	last    Usage // with the peaks of memory so far
	err     error // of the last read
}

// NewMeter begins to measure a process.
func NewMeter(process string, pid int) *Meter {
	m := &Meter{Process: process, pid: pid, end: make(chan struct{})}
	m.read()
	m.before = m.last
	m.ended.Go(func() { wait.Until(m.read, sampling, m.end) })
	return m
}

// CountAll counts what the process used before the meter began, too.
func (m *Meter) CountAll() { m.before = Usage{} }

func (m *Meter) read() {
	now, err := Read(m.pid)
	m.last = Usage{now.CPU, max(m.last.Resident, now.Resident), max(m.last.Anonymous, now.Anonymous)}
	m.err = err
}

// Stop returns the processor time since the begin, and the peaks of memory.
func (m *Meter) Stop() (Usage, error) {
	close(m.end)
	m.ended.Wait()
	m.read()
	m.last.CPU -= m.before.CPU
	return m.last, m.err
}
