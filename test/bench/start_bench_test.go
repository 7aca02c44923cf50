// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures the whole program: how soon it is ready, and what it needs while there is nothing to do.
//
// It prints figures and fails on none; the budgets are in the project's architecture. Run it with `make bench` on a
// machine that does nothing else.
package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/test/plane"
)

// idle is how long the program is left alone before its memory is read: the start's garbage is given back by then.
const idle = 20 * time.Second

// BenchmarkStart starts bowline up on a new data folder and again on the same one, from the start of the process to
// the line that says it is ready.
func BenchmarkStart(b *testing.B) {
	for range b.N {
		p := plane.New(b)
		first := p.Up(b)
		p.Kill(b)
		b.ReportMetric(first.Seconds(), "s/first-start")
		b.ReportMetric(p.Up(b).Seconds(), "s/restart")
	}
}

// BenchmarkIdleMemory reads the resident and the anonymous memory of a bowline with nothing to do.
func BenchmarkIdleMemory(b *testing.B) {
	p := plane.New(b)
	p.Up(b)
	for b.Loop() {
		<-time.After(idle)
		b.ReportMetric(memory(b, p.PID(), "VmRSS"), "MB/resident")
		b.ReportMetric(memory(b, p.PID(), "RssAnon"), "MB/anonymous")
	}
}

// memory reads a figure of a process from the kernel, in MB.
func memory(b *testing.B, pid int, figure string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if _, err := fmt.Sscanf(line, figure+": %f kB", &kb); err == nil {
			return kb / 1024
		}
	}
	b.Fatalf("the kernel does not tell %s", figure)
	return 0
}
