// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/internal/cli/daemon"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
)

const (
	commandTimeout = 90 * time.Second // for one command line; a healthy one takes a second or two
	// programVariable makes the test binary the program bowline, which it links anyway.
	programVariable = "BOWLINE_TEST_PROGRAM"
)

func TestMain(m *testing.M) {
	journal.Main()
	if os.Getenv(programVariable) != "" {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// A machine is a user's view of a computer: a registry of its own, and data folders that are stopped when the test ends.
type machine struct {
	t   *testing.T
	env []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	env := append(os.Environ(), programVariable+"=1", "XDG_CACHE_HOME="+t.TempDir(), "KUBECONFIG=", datadir.Variable+"=")
	return &machine{t: t, env: env}
}

// dataDir returns an empty folder, which has a short path. Nothing runs on it any more when the test has ended.
func (m *machine) dataDir() string {
	m.t.Helper()
	dir, err := os.MkdirTemp("", "bowline-cli-test-")
	check(m.t, err)
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

// want compares the exit code, and parts of the two outputs.
func (r result) want(t *testing.T, code int, out, stderr string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.out, out) || !strings.Contains(r.err, stderr) {
		t.Errorf("want exit code %d, %q and %q from %s", code, out, stderr, r)
	}
}

// command is one that may run for commandTimeout.
func (m *machine) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	m.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Args[0], cmd.Env = "bowline", m.env
	return cmd
}

// run runs the program and waits for its end.
func (m *machine) run(args ...string) result {
	m.t.Helper()
	var out, stderr bytes.Buffer
	cmd := m.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
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

// runHere runs a command line in this process.
func runHere(t *testing.T, args ...string) result {
	t.Helper()
	var out, stderr bytes.Buffer
	code := Run(t.Context(), append([]string{"bowline"}, args...), Streams{In: strings.NewReader(""), Out: &out, Err: &stderr})
	return result{args: args, code: code, out: out.String(), err: stderr.String()}
}

// up starts everything in the background on free ports.
func (m *machine) up(dataDir string, more ...string) string {
	m.t.Helper()
	args := []string{"up", "--detach", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--cloud-listen", "127.0.0.1:0"}
	return m.must(append(args, more...)...)
}

// start runs a command until interrupt is called, which sends what Ctrl-C sends and wants a clean end. It returns when the command
// reports that it is ready.
func (m *machine) start(ready string, args ...string) (interrupt func()) {
	m.t.Helper()
	cmd := m.command(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	check(m.t, err)
	check(m.t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), ready) {
			go func() { _, _ = io.Copy(io.Discard, out) }() // the pipe must not fill up
			return func() {
				m.t.Helper()
				check(m.t, cmd.Process.Signal(syscall.SIGINT))
				if err := cmd.Wait(); err != nil {
					m.t.Errorf("%s after Ctrl-C: %v\n%s", args[0], err, &stderr)
				}
			}
		}
	}
	m.t.Fatalf("bowline %s ended before it was ready: %v\n%s", strings.Join(args, " "), cmd.Wait(), &stderr)
	return nil
}

// kill ends the server of a data folder as kill -9 does, and waits until it has ended.
func (m *machine) kill(dataDir string) {
	m.t.Helper()
	victim, err := daemon.Find(m.t.Context(), dataDir)
	if err != nil || victim == nil {
		m.t.Fatalf("finding the server of %s: %v", dataDir, err)
	}
	defer func() { _ = victim.Release() }()
	check(m.t, victim.Kill())
	if ended, err := victim.WaitEnd(m.t.Context(), 10*time.Second); err != nil || !ended {
		m.t.Fatalf("the killed server still runs: %v", err)
	}
	if pid, ok := controlplane.Holder(dataDir); ok {
		m.t.Fatalf("process %d holds the lock of a killed server", pid)
	}
}

// apply applies YAML.
func (m *machine) apply(text string) {
	m.t.Helper()
	file := filepath.Join(m.t.TempDir(), "objects.yaml")
	check(m.t, os.WriteFile(file, []byte(text), 0o600))
	m.must("kubectl", "apply", "-f", file)
}

// setFaults uses the route of the local cloud that --cloud-admin opens.
func (m *machine) setFaults(dataDir string) error {
	m.t.Helper()
	endpoint, err := favouritecloud.ReadEndpoint(datadir.CloudDir(dataDir))
	check(m.t, err)
	token, err := favouritecloud.ReadAdminToken(datadir.CloudDir(dataDir))
	check(m.t, err)
	admin, err := sdk.NewAdminClient(endpoint, token)
	check(m.t, err)
	return admin.SetFaults(m.t.Context(), sdk.FaultRule{Latency: "1ms"})
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	check(t, err)
	return string(content)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
