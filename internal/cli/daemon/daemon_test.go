// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, tc := range []struct {
		content string
		begin   int64
		want    string
	}{
		{"a\nb\n", 0, "a\nb"},
		{"old\nnew\n", 4, "new"},
		{"new\n", 100, ""}, // the log was rotated
		{strings.Repeat("line\n", logTail), 0, strings.TrimSuffix(strings.Repeat("line\n", logTail/5), "\n")},
	} {
		write(t, path, tc.content)
		if got := string(tail(path, tc.begin)); got != tc.want {
			t.Errorf("the end of %.20q from %d is %.20q", tc.content, tc.begin, got)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStop(t *testing.T) {
	cases := map[string]struct {
		script  string
		timeout time.Duration
		killed  bool
		output  string
	}{
		"Obedient": {script: "echo ready; exec sleep 60", timeout: time.Minute, output: "Stopping process"},
		"Stubborn": {script: `trap "" TERM; echo ready; while :; do sleep 1; done`, timeout: 50 * time.Millisecond, killed: true, output: "killing it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			victim := startVictim(t, tc.script)
			var out bytes.Buffer
			killed, err := victim.Stop(t.Context(), &out, tc.timeout)
			if err != nil || killed != tc.killed {
				t.Errorf("want killed %t, got %t, %v", tc.killed, killed, err)
			}
			if !strings.Contains(out.String(), tc.output) {
				t.Errorf("it prints %q", &out)
			}
			if ended, err := victim.WaitEnd(t.Context(), time.Second); err != nil || !ended {
				t.Errorf("the process still runs: %v", err)
			}
		})
	}
}

// startVictim runs a shell script and waits until it has reported that it is ready.
func startVictim(t *testing.T, script string) *Process {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // the shell's own children
		_ = cmd.Wait()                                // it was meant to be killed
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	found, err := os.FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = found.Release() })
	return &Process{found}
}
