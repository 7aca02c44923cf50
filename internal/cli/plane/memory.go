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

// busyInterval is the time since the last collection up to which the process is busy. Collecting takes a quarter of the processor time of a
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

// adaptHeap has the process use more memory while it is busy. Each collection decides, also the one that the runtime does every two minutes.
func adaptHeap(ctx context.Context, busy time.Duration) {
	percent, last := restPercent, time.Now()
	var await func()
	await = func() {
		runtime.AddCleanup(new([64]byte), func(struct{}) { // large enough to be an allocation of its own
			if ctx.Err() != nil {
				return
			}
			want := restPercent
			if time.Since(last) <= busy {
				want = busyPercent
			}
			if last = time.Now(); want != percent {
				percent = want
				debug.SetGCPercent(percent)
			}
			await()
		}, struct{}{})
	}
	await()
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
