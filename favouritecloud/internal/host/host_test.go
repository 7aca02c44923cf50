// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCanReach(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stranger := Account{UID: 54321, GID: 54321}
	private, open := filepath.Join(root, "private"), filepath.Join(root, "open")
	for _, f := range []struct {
		path string
		mode os.FileMode
	}{{filepath.Dir(root), 0o711}, {root, 0o711}, {private, 0o700}, {open, 0o711}} {
		if err := errors.Join(os.MkdirAll(f.path, 0o700), os.Chmod(f.path, f.mode)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		private: false, filepath.Join(private, "new"): false, open: true, filepath.Join(open, "new", "er"): true,
	} {
		if got, err := stranger.CanReach(path); err != nil || got != want {
			t.Errorf("%s: got %t, %v", path, got, err)
		}
	}
	if got, err := (Account{UID: os.Geteuid()}).CanReach(private); err != nil || !got {
		t.Errorf("ourselves: got %t, %v", got, err)
	}
}

func TestLastCause(t *testing.T) {
	t.Parallel()
	postgres, redis := []string{"FATAL:", "PANIC:", "error:"}, []string{" # "}
	cases := map[string]struct {
		output string
		marks  []string
		want   string
	}{
		"fatal":         {"2026 LOG:  starting\n2026 [1] FATAL:  could not bind\n2026 LOG:  shut down\n", postgres, "could not bind"},
		"initdb":        {"creating ...\ninitdb: error: directory exists\ninitdb: hint: remove it", postgres, "directory exists"},
		"warning":       {"7:M 21 Nov # Failed listening on port 1.\n7:M 21 Nov * bye\n", redis, "Failed listening on port 1."},
		"configuration": {"*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\n>>> 'x'\nBad directive\n", redis, "Bad directive"},
		"nothing":       {"", redis, ""},
		"other":         {"one\ntwo\n", postgres, "two"},
	}
	for name, tc := range cases {
		if got := LastCause(tc.output, tc.marks...); got != tc.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

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
		if got := worksIn(tc.info, "/a/b", []string{"postgres", "initdb"}); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
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

func TestOnlyRemovalDiscards(t *testing.T) {
	t.Parallel()
	for want, end := range map[syscall.Signal]func(*Folder, context.Context) error{
		unix.SIGTERM: (*Folder).Clear, unix.SIGKILL: (*Folder).Remove,
	} {
		cmd, folder := sleeper(t)
		child, err := Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		f := &Folder{Path: folder, End: map[string]unix.Signal{"sleep": unix.SIGTERM}, Discard: unix.SIGKILL}
		if err := errors.Join(end(f, t.Context()), child.Wait(t.Context())); err != nil {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != want {
			t.Errorf("ended by %v, want %v", got, want)
		}
		child.Close()
	}
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
	if err != nil || !slices.Equal(info.Args, []string{"sleep", "3600"}) || info.Dir != folder ||
		time.Since(info.Started).Abs() > time.Minute {
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

// Users of a database server can replace any file of its data.
func TestFilesOfUsers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	at := func(name string) string { return filepath.Join(data, name) }
	outside := filepath.Join(t.TempDir(), "outside")
	err := errors.Join(os.WriteFile(outside, []byte("x"), 0o600), os.WriteFile(at("file"), []byte("content"), 0o600), os.Mkdir(at("folder"), 0o700),
		os.WriteFile(at("endless"), nil, 0o600), os.Truncate(at("endless"), 1<<40),
		os.Symlink(outside, at("link")), os.Symlink("file", at("inside")), unix.Mkfifo(at("pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		length int
		err    string
	}{
		"file":    {length: len("content")},
		"inside":  {length: len("content")},
		"endless": {length: maxSmallFile},
		"folder":  {err: "not a regular file"},
		"pipe":    {err: "not a regular file"},
		"link":    {err: "escapes"},
		"none":    {err: "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := ReadIn(data, name)
			if len(content) != tc.length || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%d bytes, %v", len(content), err)
			}
		})
	}
}
