// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/bowline-dev/bowline/test/bench/report"
)

// Machine names the machine and its load.
func Machine() ([]report.Setting, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	processors, err := fs.CPUInfo()
	if err != nil {
		return nil, err
	}
	memory, err := fs.Meminfo()
	if err != nil {
		return nil, err
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil, err
	}
	model := "unknown"
	if len(processors) > 0 && processors[0].ModelName != "" {
		model = processors[0].ModelName
	}
	gigabytes := 0.0
	if memory.MemTotalBytes != nil {
		gigabytes = float64(*memory.MemTotalBytes) / (1 << 30)
	}
	before, _, _ := strings.Cut(string(load), " ")
	return []report.Setting{
		{Name: "processor", Value: fmt.Sprintf("%s, %d cores, %s", model, runtime.NumCPU(), runtime.GOARCH)},
		{Name: "memory", Value: report.Number(gigabytes) + " GB"},
		{Name: "load before the run", Value: before},
	}, nil
}
