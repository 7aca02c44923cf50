// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// gcPercent makes a smaller heap for more processor time: a control plane on a laptop is mostly idle. During the start it leaves less
// garbage between what stays, which would keep memory in use that cannot be returned.
const gcPercent = 50

// LimitHeap sets the collector's goal, unless GOGC does.
func LimitHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
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
