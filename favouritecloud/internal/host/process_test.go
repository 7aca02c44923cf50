// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestWorksIn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		info Info
		want bool
	}{
		"directory":        {Info{Command: "postgres", Dir: "/a/b/data"}, true},
		"the folder":       {Info{Command: "postgres", Dir: "/a/b"}, true},
		"argument":         {Info{Command: "initdb", Args: []string{"initdb", "-D", "/a/b/data.new"}}, true},
		"longer name":      {Info{Command: "postgres", Dir: "/a/bc", Args: []string{"-D", "/a/bc/data"}}, false},
		"another program":  {Info{Command: "bash", Dir: "/a/b"}, false},
		"another's folder": {Info{Command: "postgres", Dir: "/a", Args: []string{"-D", "/a"}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := worksIn(tc.info, "/a/b", []string{"postgres", "initdb"}); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// sleeper starts a process that works in a folder of its own.
func sleeper(t *testing.T) (*exec.Cmd, string) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "3600")
	cmd.Dir = folder
	return cmd, folder
}

func TestChildIsFoundEndedAndReaped(t *testing.T) {
	t.Parallel()
	cmd, folder := sleeper(t)
	child, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	found, err := processesIn(folder, "sleep")
	if err != nil || len(found) != 1 || found[0].Pid() != child.Pid() {
		t.Fatalf("found %v, error %v", found, err)
	}
	info, err := found[0].Inspect()
	if err != nil || !slices.Equal(info.Args, []string{"sleep", "3600"}) || info.Dir != folder || time.Since(info.Started).Abs() > time.Minute {
		t.Errorf("got %+v, error %v", info, err)
	}
	if others, err := processesIn(folder, "postgres"); err != nil || len(others) > 0 {
		t.Errorf("found %v, error %v", others, err)
	}
	if err := found[0].Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Process{found[0], child} { // One watches as a stranger does, one as the parent.
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if cmd.ProcessState == nil {
		t.Error("child was not reaped")
	}
	found[0].Close()
	if err := child.Signal(unix.SIGKILL); !errors.Is(err, ErrEnded) {
		t.Errorf("signalling an ended process: %v", err)
	}
	if _, err := Open(child.Pid()); !errors.Is(err, ErrEnded) {
		t.Errorf("opening an ended process: %v", err)
	}
}

func TestCloseLeavesTheProcessAlone(t *testing.T) {
	t.Parallel()
	cmd, _ := sleeper(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	p.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting after Close: %v", err)
	}
	if err := errors.Join(cmd.Process.Kill(), ignoreExit(cmd.Wait())); err != nil {
		t.Errorf("the process did not live on: %v", err)
	}
}

func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

func TestStartOfWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	if _, err := Start(exec.Command(filepath.Join(t.TempDir(), "nothing"))); err == nil {
		t.Error("started nothing")
	}
}
