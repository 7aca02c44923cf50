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
	var pages int64
	for pids := []string{strconv.Itoa(p.PID())}; len(pids) > 0; pids = pids[1:] {
		folder := filepath.Join("/proc", pids[0])
		sizes, err := os.ReadFile(filepath.Join(folder, "statm"))
		if fields := bytes.Fields(sizes); err == nil && len(fields) > 1 { // else it has just ended
			resident, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			pages += resident
		}
		lists, _ := filepath.Glob(filepath.Join(folder, "task", "*", "children")) // one for each thread
		for _, list := range lists {
			children, _ := os.ReadFile(list)
			for _, child := range bytes.Fields(children) {
				pids = append(pids, string(child))
			}
		}
	}
	return pages * int64(os.Getpagesize())
}
