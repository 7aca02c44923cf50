// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// How large garbage may become before it is collected, in percent of what is in use.
const (
	restPercent = 50 // a control plane is mostly idle, and memory counts; the start leaves less garbage between what stays in use
	busyPercent = 200
)

// busyInterval is the time between two collections up to which the process is busy. Collecting takes a quarter of the processor time of a
// busy API server at restPercent.
const busyInterval = 2 * time.Second

// limitHeap sets the goal of the collector, unless the user did, and returns what adapts it from the end of the start until ctx ends.
func limitHeap(ctx context.Context) (adapt func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(restPercent)
	return func() { adaptHeap(ctx, busyInterval) }
}

// A heap uses more memory while the process is busy, and returns it soon after.
type heap struct {
	interval time.Duration // see busyInterval
	rest     *time.Timer   // runs while it is busy
	last     time.Time     // collection
}

func adaptHeap(ctx context.Context, interval time.Duration) {
	h := &heap{interval: interval, last: time.Now()}
	h.rest = time.AfterFunc(interval, func() {
		debug.SetGCPercent(restPercent)
		debug.FreeOSMemory()
	})
	h.rest.Stop()
	h.awaitCollection(ctx)
}

// awaitCollection calls collected after each collection of garbage.
func (h *heap) awaitCollection(ctx context.Context) {
	runtime.AddCleanup(new([64]byte), func(struct{}) { // large enough to be an allocation of its own
		if ctx.Err() == nil {
			h.collected()
			h.awaitCollection(ctx)
		}
	}, struct{}{})
}

func (h *heap) collected() {
	if time.Since(h.last) <= h.interval && !h.rest.Reset(2*h.interval) {
		debug.SetGCPercent(busyPercent)
	}
	h.last = time.Now()
}

// SaveMemory frees what only the start needs, and returns memory to the system.
func SaveMemory() {
	crd.Forget()
	debug.FreeOSMemory()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return // only Linux has it
	}
	if smaps, err := os.ReadFile("/proc/self/smaps"); err == nil {
		for _, m := range unchanged(smaps, program) {
			// The start runs most of the program, rest a third of it. What is used again is mapped again, from the page cache or the file. An
			// error means that it stays mapped.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.begin, m.end-m.begin, syscall.MADV_DONTNEED)
		}
	}
}

// A mapping is a range of addresses.
type mapping struct{ begin, end uintptr }

// unchanged returns the mappings of a file of which the process has not changed a page, and may not.
func unchanged(smaps []byte, file string) (found []mapping) {
	var m mapping
	candidate := false
	for lines := bufio.NewScanner(bytes.NewReader(smaps)); lines.Scan(); {
		line := lines.Text()
		var next mapping
		var permissions string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &next.begin, &next.end, &permissions); n == 3 {
			m, candidate = next, strings.HasSuffix(line, " "+file) && !strings.Contains(permissions, "w")
		}
		if candidate && strings.HasPrefix(line, "Anonymous:") && strings.HasSuffix(line, " 0 kB") {
			found = append(found, m)
		}
	}
	return found
}
