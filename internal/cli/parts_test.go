// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/plane"
)

// TestParts runs the three parts as programs of their own.
func TestParts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	server := m.start("The API server is ready", "apiserver", "--data-dir", dir, "--listen", "127.0.0.1:0")
	cloud := m.start("The local cloud is ready", "cloud", "--data-dir", dir, "--cloud-listen", "127.0.0.1:0")
	controllers := m.start("The controllers work", "controllers", "--kubeconfig", controlplane.KubeconfigPath(dir), "--leader-elect")

	if got := m.must("kubectl", "get", "crd", "-o", "name"); !strings.Contains(got, "favouritedbinstances") {
		t.Errorf("the controllers installed %q", got)
	}
	lease := m.must("kubectl", "get", "lease", plane.ControllersAccount, "-n", plane.SystemNamespace, "-o", "jsonpath={.spec.holderIdentity}")
	if lease == "" {
		t.Error("the controllers' lease has no holder")
	}
	if key := m.must("cloud", "key", "create", "--project", "demo"); key == "" {
		t.Error("no key")
	}
	for _, p := range []*part{controllers, cloud, server} {
		p.interrupt()
	}
	if got := m.must("down", "--data-dir", dir); !strings.Contains(got, "Nothing runs") {
		t.Errorf("after Ctrl-C on each part, down prints %q", got)
	}
}

// TestForeground stops up as Ctrl-C does.
func TestForeground(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	m.start("Bowline is ready", "up", "--data-dir", dir, "--listen", "127.0.0.1:0", "--cloud=false").interrupt()
	if pid, ok := controlplane.Holder(dir); ok {
		t.Errorf("process %d holds the lock after Ctrl-C", pid)
	}
	if got := m.run("cloud", "key", "create", "--project", "demo", "--data-dir", dir); got.code != exitError || !strings.Contains(got.err, "no local cloud runs") {
		t.Errorf("a key without a cloud: %s", got)
	}
}

// TestPortTaken starts a second server on the first one's port.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	first, second := m.dataDir(), m.dataDir()
	m.up(first, "--cloud=false")
	address := parseStatus(t, m.must("status", "-o", "json")).Address
	for name, detach := range map[string]string{"foreground": "--detach=false", "detached": "--detach"} {
		got := m.run("up", "--data-dir", second, "--listen", address, "--cloud=false", detach)
		if got.code != exitError || !strings.Contains(got.err, address) || !strings.Contains(got.err, "--listen") {
			t.Errorf("%s: %s", name, got)
		}
	}
	m.up(second, "--cloud=false")
	if got := m.run("status"); got.code != exitError || !strings.Contains(got.err, first) || !strings.Contains(got.err, second) {
		t.Errorf("with two servers, status does not name them: %s", got)
	}
}

// A part is a command that runs until it is interrupted.
type part struct {
	m   *machine
	cmd *exec.Cmd
	err *strings.Builder
}

// start runs a command and waits until it reports that it is ready.
func (m *machine) start(ready string, args ...string) *part {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	m.t.Cleanup(cancel)
	p := &part{m: m, cmd: exec.CommandContext(ctx, program, args...), err: &strings.Builder{}}
	p.cmd.Env, p.cmd.Stderr = m.env, p.err
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), ready) {
			go func() {
				for lines.Scan() { // what follows is for people; the pipe must not fill up
				}
			}()
			return p
		}
	}
	err = p.cmd.Wait()
	m.t.Fatalf("bowline %s ended before it was ready: %v\n%s", strings.Join(args, " "), err, p.err)
	return nil
}

// interrupt sends what Ctrl-C sends and wants a clean end.
func (p *part) interrupt() {
	p.m.t.Helper()
	begin := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		p.m.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.m.t.Errorf("%s after Ctrl-C (%s): %v\n%s", p.cmd.Args[1], time.Since(begin), err, p.err)
	}
}
