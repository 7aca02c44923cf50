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
	"sync"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// How large garbage may become before it is collected, in percent of what is in use.
const (
	restPercent = 50 // a control plane is mostly idle, and memory counts; the start leaves less garbage between what stays in use
	busyPercent = 200
)

// A process becomes busy with two collections within busyInterval. Collecting takes a quarter of the processor time of a busy API server at
// restPercent.
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
	rest     *time.Timer   // runs while the process is busy

	mu   sync.Mutex
	busy bool
	last time.Time // at which garbage was collected
}

func adaptHeap(ctx context.Context, interval time.Duration) {
	h := &heap{interval: interval}
	h.rest = time.AfterFunc(interval, h.endBusy)
	h.rest.Stop()
	context.AfterFunc(ctx, func() { h.rest.Stop() })
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
	h.mu.Lock()
	defer h.mu.Unlock()
	whileBusy := h.interval * busyPercent / restPercent // the same load is collected that much less often
	since := time.Since(h.last)
	switch {
	case h.busy && since <= whileBusy:
		h.rest.Reset(whileBusy + h.interval)
	case !h.busy && since <= h.interval:
		debug.SetGCPercent(busyPercent)
		h.busy = true
		h.rest.Reset(whileBusy + h.interval)
	}
	h.last = time.Now()
}

func (h *heap) endBusy() {
	h.mu.Lock()
	debug.SetGCPercent(restPercent)
	h.busy, h.last = false, time.Time{} // the collection that follows is not of load
	h.mu.Unlock()
	debug.FreeOSMemory()
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
