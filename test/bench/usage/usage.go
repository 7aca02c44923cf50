// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage reads from Linux what a process uses, at one moment or between two.
//
//	meter, err := usage.Measure(p.PID())
//	...
//	used, err := meter.Stop()
package usage

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc, on every architecture that Linux has.
const tick = time.Second / 100

// A Usage is processor time and memory of a process.
type Usage struct {
	// CPU is the processor time of the process so far, or within a measurement, user and system together.
	CPU time.Duration
	// Resident is the memory that is in RAM, in bytes; within a measurement its peak.
	Resident int64
	// Anonymous is the part of it that no file holds, in bytes: heaps and stacks. Within a measurement its peak.
	Anonymous int64
}

// Read returns what a process uses now.
func Read(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	return parse(string(stat), string(status))
}

// MachineCPU returns the processor time that the machine has spent on anything at all.
func MachineCPU() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return parseMachine(string(stat))
}

// parse reads /proc/PID/stat and /proc/PID/status.
func parse(stat, status string) (Usage, error) {
	// The second field is the program's name in parentheses and may hold anything, so fields count from the last one.
	_, rest, found := cutLast(stat, ")")
	fields := strings.Fields(rest)
	const user, system = 11, 12 // utime and stime are the fields 14 and 15 of all
	if !found || len(fields) <= system {
		return Usage{}, fmt.Errorf("unexpected content of /proc/PID/stat: %q", stat)
	}
	cpu, err := ticks(fields[user : system+1])
	if err != nil {
		return Usage{}, err
	}
	resident, err := memory(status, "VmRSS")
	if err != nil {
		return Usage{}, err
	}
	anonymous, err := memory(status, "RssAnon")
	return Usage{CPU: cpu, Resident: resident, Anonymous: anonymous}, err
}

// parseMachine reads the first line of /proc/stat: all processors' times by what they were spent on.
func parseMachine(stat string) (time.Duration, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("unexpected first line of /proc/stat: %q", line)
	}
	// user nice system idle iowait irq softirq steal; the guests that follow are in user and nice already.
	return ticks(append(append([]string{}, fields[1:4]...), fields[6:9]...))
}

func ticks(fields []string) (time.Duration, error) {
	var sum time.Duration
	for _, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading processor time: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// memory reads a figure of /proc/PID/status, in bytes.
func memory(status, figure string) (int64, error) {
	for line := range strings.Lines(status) {
		value, found := strings.CutPrefix(line, figure+":")
		if !found {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w", figure, err)
		}
		return kb * 1024, nil
	}
	return 0, errors.New("the kernel does not report " + figure)
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
