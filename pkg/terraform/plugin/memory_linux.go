// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// Memory is the resident memory, in bytes, of the process and of those that it started: 0 if it is not known.
func (p *Process) Memory() int64 {
	own, started := resident(p.PID())
	return own + started
}

// OwnMemory is Memory without that of the journal which runs the provider, if there is one.
func (p *Process) OwnMemory() int64 {
	own, started := resident(p.PID())
	if p.stdin != nil {
		return started
	}
	return own + started
}

// resident is the resident memory of a process, and that of those that it started.
func resident(pid int) (own, started int64) {
	for pids := []string{strconv.Itoa(pid)}; len(pids) > 0; pids = pids[1:] {
		folder := filepath.Join("/proc", pids[0])
		sizes, err := os.ReadFile(filepath.Join(folder, "statm"))
		if fields := bytes.Fields(sizes); err == nil && len(fields) > 1 { // else it has just ended
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			started += pages * int64(os.Getpagesize())
		}
		if own == 0 {
			own, started = started, 0
		}
		lists, _ := filepath.Glob(filepath.Join(folder, "task", "*", "children")) // one for each thread
		for _, list := range lists {
			children, _ := os.ReadFile(list)
			for _, child := range bytes.Fields(children) {
				pids = append(pids, string(child))
			}
		}
	}
	return own, started
}
