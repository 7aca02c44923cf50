// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/internal/testkit"
)

// dataDirVariable is the data folder of a cloud that this test binary runs instead of tests, so that tests can kill it.
const dataDirVariable = "FAVOURITECLOUD_TEST_DATA_DIR"

// patience is the timeout of eventually.
const patience = 60 * time.Second

const project = "demo"

func TestMain(m *testing.M) {
	dir := os.Getenv(dataDirVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := runCloud(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runCloud(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server, err := favouritecloud.New(favouritecloud.Config{
		DataDir: dir, Listen: "127.0.0.1:0", RetryInterval: time.Second, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	go func() {
		<-server.Ready()
		fmt.Println(server.URL())
	}()
	return server.Run(ctx)
}

// newDataDir returns a folder that the account of servers can reach. No server may be left in it when the test ends.
func newDataDir(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("Redis is not installed: apt-get install redis-server")
	}
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); err != nil || len(found) == 0 {
		t.Fatal("PostgreSQL is not installed: apt-get install postgresql")
	}
	parent := t.TempDir()
	for _, folder := range []string{filepath.Dir(parent), parent} {
		if err := os.Chmod(folder, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(parent, "cloud")
	t.Cleanup(func() {
		for _, pid := range serversIn(t, dir) {
			t.Errorf("server %d is left in %s; error of killing it: %v", pid, dir, syscall.Kill(pid, syscall.SIGKILL))
		}
	})
	return dir
}

// serversIn returns the pids of servers and initdb below a folder, by the arguments of all processes. A process that a server has
// just forked still has the arguments of the server, and does not count.
func serversIn(t *testing.T, folder string) (servers []int) {
	t.Helper()
	parents := processesIn(t, folder)
	for pid, parent := range parents {
		if _, forked := parents[parent]; !forked {
			servers = append(servers, pid)
		}
	}
	slices.Sort(servers)
	return servers
}

// processesIn returns the parents of all processes with an argument below a folder.
func processesIn(t *testing.T, folder string) map[int]int {
	t.Helper()
	processes, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	parents := map[int]int{}
	for _, p := range processes {
		args, argsErr := p.CmdLine()
		stat, statErr := p.Stat()
		isInside := func(arg string) bool { return strings.HasPrefix(arg, folder+"/") }
		if argsErr == nil && statErr == nil && slices.ContainsFunc(args, isInside) {
			parents[p.PID] = stat.PPID
		}
	}
	return parents
}

// cloud is a running cloud with a client of a project.
type cloud struct {
	url, dir, apiKey string
	client           *sdk.Client
	log              *bytes.Buffer        // complete when a process has ended
	end              func(syscall.Signal) // can be repeated
	keep             func()               // as something fails beside a cloud of this process
}

func (c *cloud) stop() { c.end(syscall.SIGINT) }
func (c *cloud) kill() { c.end(syscall.SIGKILL) }

// startCloud runs a cloud in this process until the test ends or stop is called.
func startCloud(t *testing.T, config favouritecloud.Config) *cloud {
	t.Helper()
	if config.DataDir == "" {
		config.DataDir = newDataDir(t)
	}
	config.Listen = "127.0.0.1:0"
	config.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	server, err := favouritecloud.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(ctx)
		close(ended)
	}()
	stop := func(syscall.Signal) {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("running cloud: %v", err)
		}
		http.DefaultClient.CloseIdleConnections() // to this cloud: the next one may have its port, and a POST is not repeated
	}
	t.Cleanup(func() { stop(syscall.SIGINT) })
	select {
	case <-server.Ready():
	case err := <-ended:
		t.Fatalf("starting cloud: %v", err)
	}
	return connect(t, &cloud{url: server.URL(), dir: config.DataDir, end: stop, keep: server.KeepServers}, project)
}

// startPaperCloud runs a cloud that finds no PostgreSQL, for tests of what does not need a server. It takes fault rules.
func startPaperCloud(t *testing.T) *cloud {
	t.Helper()
	return startCloud(t, favouritecloud.Config{PostgresSearchPath: []string{t.TempDir()}, CloudAdmin: true})
}

// spawnCloud runs a cloud in a process of its own and returns when it is ready. It is stopped when the test ends.
// Package testkit/process keeps neither the printed URL nor the whole log.
func spawnCloud(t *testing.T, dir string) *cloud {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dataDirVariable+"="+dir)
	c := &cloud{dir: dir, log: &bytes.Buffer{}}
	cmd.Stderr = c.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.end = func(sig syscall.Signal) {
		if cmd.ProcessState != nil {
			return
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Errorf("ending cloud: %v", err)
		}
		if err := cmd.Wait(); err != nil && sig != syscall.SIGKILL {
			t.Errorf("the cloud failed: %v\n%s", err, c.log)
		}
	}
	t.Cleanup(c.stop)
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.kill()
		t.Fatalf("starting cloud: %v\n%s", err, c.log)
	}
	c.url = strings.TrimSpace(url)
	return connect(t, c, project)
}

// connect returns the cloud with a new client of a project.
func connect(t *testing.T, at *cloud, project string) *cloud {
	t.Helper()
	key, err := sdk.CreateKey(t.Context(), at.url, at.adminToken(t), project)
	if err != nil {
		t.Fatal(err)
	}
	c := *at
	c.apiKey = key.Key
	if c.client, err = sdk.NewClient(sdk.Config{Endpoint: c.url, Project: project, APIKey: key.Key}); err != nil {
		t.Fatal(err)
	}
	return &c
}

func (c *cloud) adminToken(t *testing.T) string {
	t.Helper()
	token, err := favouritecloud.ReadAdminToken(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// object is a JSON object.
type object = map[string]any

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	text   string
}

func (a answer) object(t *testing.T) (o object) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), &o); err != nil {
		t.Fatalf("answer %q: %v", a.text, err)
	}
	return o
}

// request makes a request to the cloud. headers are names and values.
func (c *cloud) request(t *testing.T, method, path, token, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // It has been read.
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, text: string(content)}
}

// call makes a request of the project that must succeed. path is relative to the project.
func (c *cloud) call(t *testing.T, method, path, body string) object {
	t.Helper()
	a := c.request(t, method, "/v1/projects/"+c.client.Project()+"/"+path, c.apiKey, body)
	if a.status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %d %s", method, path, a.status, a.text)
	}
	return a.object(t)
}

// list returns a field of all resources that a search finds. path is relative to the project.
func (c *cloud) list(t *testing.T, path, field string) (values []any) {
	t.Helper()
	for _, all := range c.call(t, http.MethodGet, path, "") {
		for _, o := range all.([]any) {
			values = append(values, o.(object)[field])
		}
	}
	return values
}

// eventually waits until the check returns "", and fails with its last result after a timeout.
func eventually(t *testing.T, what string, check func() string) {
	t.Helper()
	testkit.Within(t, patience, what, func() error {
		if problem := check(); problem != "" {
			return errors.New(problem)
		}
		return nil
	})
}
