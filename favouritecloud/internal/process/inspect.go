// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clockTicksPerSecond is the unit of start times in /proc: USER_HZ, which is 100 on every Linux architecture.
const clockTicksPerSecond = 100

// Info is what /proc tells about a process.
type Info struct {
	// Command is the name of the program, at most 15 characters.
	Command string
	// Args are the arguments, the program first. A process may have overwritten them.
	Args []string
	// Dir is the working directory; empty when this process has no right to know it, as a container's root often
	// has not about processes of other users.
	Dir string
	// Started is when the process started, by today's clock: it moves when the clock is stepped.
	Started time.Time
}

// Inspect returns what /proc tells. The error is ErrGone when the process has ended.
func (p *Process) Inspect() (Info, error) {
	info, err := inspect(p.pid)
	if !p.alive() {
		return Info{}, ErrGone // Whatever was read may be about the next owner of the pid.
	}
	return info, err
}

func inspect(pid int) (Info, error) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	command, ticks, err := readStat(folder)
	if err != nil {
		return Info{}, fmt.Errorf("inspecting process %d: %w", pid, err)
	}
	booted, err := bootTime()
	if err != nil {
		return Info{}, fmt.Errorf("inspecting process %d: %w", pid, err)
	}
	cmdline, err := os.ReadFile(filepath.Join(folder, "cmdline"))
	if err != nil {
		return Info{}, fmt.Errorf("inspecting process %d: %w", pid, err)
	}
	dir, err := os.Readlink(filepath.Join(folder, "cwd"))
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		return Info{}, fmt.Errorf("inspecting process %d: %w", pid, err)
	}
	return Info{
		Command: command,
		Args:    splitArgs(cmdline),
		Dir:     strings.TrimSuffix(dir, " (deleted)"),
		Started: booted.Add(time.Duration(ticks) * time.Second / clockTicksPerSecond),
	}, nil
}

func readStat(folder string) (command string, ticks int64, err error) {
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return "", 0, err
	}
	return parseStat(string(stat))
}

// parseStat returns the command and the start time in ticks since boot. The command stands in parentheses and may
// itself hold spaces and parentheses; field 22 is the start time.
func parseStat(stat string) (command string, ticks int64, err error) {
	first, last := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if first < 0 || last < first {
		return "", 0, errors.New("stat has no command")
	}
	fields := strings.Fields(stat[last+1:]) // Starts with field 3.
	const startTime = 22 - 3
	if len(fields) <= startTime {
		return "", 0, errors.New("stat has too few fields")
	}
	ticks, err = strconv.ParseInt(fields[startTime], 10, 64)
	return stat[first+1 : last], ticks, err
}

func bootTime() (time.Time, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(stat)) {
		if seconds, ok := strings.CutPrefix(line, "btime "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
			return time.Unix(n, 0), err
		}
	}
	return time.Time{}, errors.New("/proc/stat has no boot time")
}

func splitArgs(cmdline []byte) []string {
	var args []string
	for arg := range bytes.SplitSeq(bytes.TrimRight(cmdline, "\x00"), []byte{0}) {
		args = append(args, string(arg))
	}
	return args
}

// InFolder opens every process that runs one of the named programs and works in the folder: its working directory or
// one of its arguments lies there. folder must be free of symbolic links. The caller closes what it is given.
func InFolder(folder string, programs ...string) ([]*Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []*Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Most processes run something else, and are passed over after one short read.
		if command, _, err := readStat(filepath.Join("/proc", e.Name())); err != nil || !slices.Contains(programs, command) {
			continue
		}
		if info, err := inspect(pid); err != nil || !worksIn(info, folder, programs) {
			continue // A process that ended while we looked is none of ours any more.
		}
		p, err := Open(pid)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return found, err
		}
		if info, err := p.Inspect(); err != nil || !worksIn(info, folder, programs) {
			p.Close() // The pid changed hands between the two looks.
			continue
		}
		found = append(found, p)
	}
	return found, nil
}

func worksIn(info Info, folder string, programs []string) bool {
	if !slices.Contains(programs, info.Command) {
		return false
	}
	return isWithin(info.Dir, folder) || slices.ContainsFunc(info.Args, func(arg string) bool { return isWithin(arg, folder) })
}

func isWithin(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}
