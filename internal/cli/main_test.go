// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/daemon"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

const commandTimeout = 90 * time.Second // for one command line; a healthy one takes a second or two

// program is the binary, built once for the run.
var program string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "bowline-cli-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "building bowline:", err)
		return 1
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "bowline")
	stamp := "-X k8s.io/component-base/version.gitVersion=" + moduleVersionFromGoMod()
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w "+stamp, "-o", program, "../../cmd/bowline")
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building bowline: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// moduleVersionFromGoMod asks for Kubernetes' version: a test binary does not know its modules.
func moduleVersionFromGoMod() string {
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}

// A machine is a user's view of a computer: a registry of its own, and data folders that are stopped when the test ends.
type machine struct {
	t   *testing.T
	env []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	env := append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "KUBECONFIG=/nonexistent", datadir.Variable+"=")
	return &machine{t: t, env: env}
}

// dataDir returns an empty folder on which nothing runs any more when the test has ended.
func (m *machine) dataDir() string {
	m.t.Helper()
	dir, err := os.MkdirTemp("", "bowline-cli-test-")
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if got := m.run("down", "--data-dir", dir); got.code != exitOK {
			m.t.Errorf("stopping what runs on %s: %s", dir, got)
		}
		if err := os.RemoveAll(dir); err != nil {
			m.t.Error(err)
		}
	})
	return dir
}

// result is what a command line did.
type result struct {
	args     []string
	code     int
	out, err string
}

func (r result) String() string {
	return fmt.Sprintf("bowline %s: exit code %d\nstdout:\n%s\nstderr:\n%s", strings.Join(r.args, " "), r.code, r.out, r.err)
}

// run runs the program and waits for its end.
func (m *machine) run(args ...string) result {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = m.env, &out, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		m.t.Fatalf("running bowline: %v", err)
	}
	return result{args: args, code: cmd.ProcessState.ExitCode(), out: out.String(), err: stderr.String()}
}

// must is run for command lines that have to succeed; it returns the standard output.
func (m *machine) must(args ...string) string {
	m.t.Helper()
	got := m.run(args...)
	if got.code != exitOK {
		m.t.Fatal(got)
	}
	return got.out
}

// up starts everything in the background on free ports.
func (m *machine) up(dataDir string, more ...string) string {
	m.t.Helper()
	args := []string{"up", "--detach", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--cloud-listen", "127.0.0.1:0"}
	return m.must(append(args, more...)...)
}

// kill ends the server of a data folder as kill -9 does, and waits until it has ended.
func (m *machine) kill(dataDir string) {
	m.t.Helper()
	victim, err := daemon.Find(dataDir)
	if err != nil || victim == nil {
		m.t.Fatalf("finding the server of %s: %v", dataDir, err)
	}
	defer func() { _ = victim.Release() }()
	if err := victim.Kill(); err != nil {
		m.t.Fatal(err)
	}
	if ended, err := victim.WaitEnd(m.t.Context(), 10*time.Second); err != nil || !ended {
		m.t.Fatalf("the killed server still runs: %v", err)
	}
	if pid, ok := controlplane.Holder(dataDir); ok {
		m.t.Fatalf("process %d holds the lock of a killed server", pid)
	}
}
