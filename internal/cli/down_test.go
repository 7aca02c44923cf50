// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStop(t *testing.T) {
	cases := map[string]struct {
		script   string
		patience time.Duration
		killed   bool
		said     string
	}{
		"Obedient": {script: "echo ready; exec sleep 60", patience: time.Minute, said: "Stopping process"},
		"Stubborn": {script: `trap "" TERM; echo ready; while :; do sleep 1; done`, patience: 50 * time.Millisecond, killed: true, said: "killing it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			victim := startVictim(t, tc.script)
			var out bytes.Buffer
			killed, err := victim.stop(t.Context(), &out, tc.patience)
			if err != nil || killed != tc.killed {
				t.Errorf("want killed %t, got %t, %v", tc.killed, killed, err)
			}
			if !strings.Contains(out.String(), tc.said) {
				t.Errorf("it says %q", &out)
			}
			if ended, err := victim.waitEnd(t.Context(), time.Second); err != nil || !ended {
				t.Errorf("the process goes on: %v", err)
			}
		})
	}
}

// startVictim runs a shell script and waits until it has said that it is ready.
func startVictim(t *testing.T, script string) *target {
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
	handle, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	victim := &target{pid: cmd.Process.Pid, handle: handle}
	t.Cleanup(victim.close)
	return victim
}
