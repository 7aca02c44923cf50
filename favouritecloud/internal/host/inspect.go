// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// Info is the data of /proc about a process.
type Info struct {
	// Command is the name of the program, at most 15 characters.
	Command string
	// Args are the arguments, the program first. A process may have overwritten them.
	Args []string
	// Dir is the working directory; empty when this process may not read it, as root in a container often may not for
	// processes of other users.
	Dir string
	// Started is when the process started, by the current clock: it moves when the clock is set.
	Started time.Time
}

// Inspect returns the data of /proc. The error is ErrEnded when the process has ended.
func (p *Process) Inspect() (Info, error) {
	info, err := inspect(p.pid)
	if !p.alive() {
		return Info{}, ErrEnded // The data may be that of the next process with this pid.
	}
	if err != nil {
		return Info{}, fmt.Errorf("inspecting process %d: %w", p.pid, err)
	}
	return info, nil
}

func inspect(pid int) (Info, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return Info{}, err
	}
	stat, statErr := proc.Stat()
	args, argsErr := proc.CmdLine()
	if err := errors.Join(statErr, argsErr); err != nil {
		return Info{}, err
	}
	started, err := stat.StartTime()
	if err != nil {
		return Info{}, err
	}
	dir, err := proc.Cwd()
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		return Info{}, err
	}
	return Info{
		Command: stat.Comm, Args: args, Dir: strings.TrimSuffix(dir, " (deleted)"),
		Started: time.UnixMilli(int64(started * 1000)),
	}, nil
}

// processesIn opens every process that runs one of the programs and works in the folder: its working directory or one of its
// arguments lies there. folder must be free of symbolic links. The caller closes the processes, also after an error.
func processesIn(folder string, programs ...string) ([]*Process, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []*Process
	for _, candidate := range all {
		// Most processes run another program and are skipped after one short read.
		command, err := candidate.Comm()
		if err != nil || candidate.PID == os.Getpid() || !slices.Contains(programs, command) {
			continue
		}
		p, err := Open(candidate.PID)
		if errors.Is(err, ErrEnded) {
			continue
		}
		if err != nil {
			return found, err
		}
		if info, err := p.Inspect(); err != nil || !worksIn(info, folder, programs) {
			p.Close()
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
