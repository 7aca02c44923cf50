// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
)

// dataDirVariable is the data folder of a cloud that this test binary runs instead of tests, so that tests can kill it.
const dataDirVariable = "FAVOURITECLOUD_TEST_DATA_DIR"

// patience is the timeout of eventually.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if dir := os.Getenv(dataDirVariable); dir != "" {
		os.Exit(runCloud(dir))
	}
	os.Exit(m.Run())
}

func runCloud(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server, err := favouritecloud.New(favouritecloud.Config{
		DataDir: dir, Listen: "127.0.0.1:0", RetryInterval: time.Second,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		<-server.Ready()
		fmt.Println(server.URL())
	}()
	if err := server.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// newDataDir returns a folder that the account of servers can reach. No server may be left in it when the test ends.
func newDataDir(t *testing.T) string {
	t.Helper()
	requireServers(t)
	parent := t.TempDir()
	for _, folder := range []string{filepath.Dir(parent), parent} {
		if err := os.Chmod(folder, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(parent, "cloud")
	t.Cleanup(func() {
		if left := serversIn(t, dir); len(left) > 0 {
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			t.Errorf("servers are left in %s: pids %v", dir, left)
		}
	})
	return dir
}

func requireServers(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("Redis is not installed: apt-get install redis-server")
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if _, onPath := exec.LookPath("initdb"); err != nil || (len(found) == 0 && onPath != nil) {
		t.Fatal("PostgreSQL is not installed: apt-get install postgresql")
	}
}

// serversIn returns the pids of servers and initdb below a folder, by the arguments of all processes. A process that a server has just
// forked still has the arguments of the server, and does not count.
func serversIn(t *testing.T, folder string) []int {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	parents := map[int]int{}
	for _, path := range processes {
		cmdline, cmdlineErr := os.ReadFile(filepath.Join(path, "cmdline"))
		stat, statErr := os.ReadFile(filepath.Join(path, "stat"))
		args := bytes.Split(cmdline, []byte{0})
		if cmdlineErr != nil || statErr != nil || len(args) < 3 {
			continue // It has ended, or is another program.
		}
		isPostgres := string(args[1]) == "-D" && strings.HasPrefix(string(args[2]), folder+"/")
		isRedis := strings.HasPrefix(string(args[1]), folder+"/") && strings.HasSuffix(string(args[1]), "/redis.conf")
		if !isPostgres && !isRedis {
			continue
		}
		var pid, parent int
		var state string
		if _, err := fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), "%s %d", &state, &parent); err != nil {
			t.Fatal(err)
		}
		if pid, err = strconv.Atoi(filepath.Base(path)); err != nil {
			t.Fatal(err)
		}
		parents[pid] = parent
	}
	var servers []int
	for pid, parent := range parents {
		if _, forked := parents[parent]; !forked {
			servers = append(servers, pid)
		}
	}
	return servers
}

// cloud is a running cloud with its clients.
type cloud struct {
	url       string
	dir       string
	databases *database.Client
	caches    *cache.Client
	networks  *network.Client
	subnets   *subnet.Client
	groups    *nodegroup.Client
	client    *sdk.Client
	apiKey    string
	stop      func() // can be repeated
}

const project = "demo"

// startCloud runs a cloud in this process until the test ends or stop is called.
func startCloud(t *testing.T, c favouritecloud.Config) *cloud {
	t.Helper()
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	c.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	server, err := favouritecloud.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stopping cloud: %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case <-server.Ready():
	case err := <-ended:
		stopped = true
		cancel()
		t.Fatalf("starting cloud: %v", err)
	}
	return connect(t, server.URL(), c.DataDir, project, stop)
}

// connect creates an API key with the admin token, and clients with the key.
func connect(t *testing.T, url, dir, project string, stop func()) *cloud {
	t.Helper()
	key, err := sdk.CreateKey(t.Context(), url, adminToken(t, dir), project)
	if err != nil {
		t.Fatal(err)
	}
	client, err := sdk.NewClient(sdk.Config{Endpoint: url, Project: project, APIKey: key.Key})
	if err != nil {
		t.Fatal(err)
	}
	return &cloud{
		url: url, dir: dir, databases: database.NewClient(client), caches: cache.NewClient(client), networks: network.NewClient(client),
		subnets: subnet.NewClient(client), groups: nodegroup.NewClient(client), client: client, apiKey: key.Key, stop: stop,
	}
}

// process is the process of a cloud.
type process struct {
	cmd *exec.Cmd
	log *bytes.Buffer
}

func (p *process) end(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Errorf("ending cloud: %v", err)
	}
	if err := p.cmd.Wait(); err != nil && sig != syscall.SIGKILL {
		t.Errorf("cloud ended badly: %v\n%s", err, p.log)
	}
}

// spawnCloud runs a cloud in a process of its own and returns when it is ready. It is stopped when the test ends.
func spawnCloud(t *testing.T, dir string) (*cloud, *process) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), dataDirVariable+"="+dir)
	p := &process{cmd: cmd, log: &bytes.Buffer{}}
	cmd.Stderr = p.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(t, syscall.SIGINT) })
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.end(t, syscall.SIGKILL)
		t.Fatalf("cloud did not start: %v\n%s", err, p.log)
	}
	return connect(t, strings.TrimSpace(url), dir, project, func() { p.end(t, syscall.SIGINT) }), p
}

// eventually waits until the check returns "", and fails with its last result after a timeout.
func eventually(t *testing.T, what string, check func() string) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		problem := check()
		if problem == "" {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("waiting for %s: still %s", what, problem)
		case <-tick.C:
		}
	}
}

// awaitOnline returns the database instance once it is online.
func (c *cloud) awaitOnline(t *testing.T, name string) *database.Instance {
	t.Helper()
	c.await(t, databases(), name)
	return get(t, c.databases, name)
}

func create[O, C, In, Ch any](t *testing.T, of *sdk.Collection[O, C, In, Ch], in In, opts ...sdk.CallOption) *C {
	t.Helper()
	created, err := of.Create(t.Context(), in, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func get[O, C, In, Ch any](t *testing.T, of *sdk.Collection[O, C, In, Ch], id string) *O {
	t.Helper()
	object, err := of.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func remove[O, C, In, Ch any](t *testing.T, of *sdk.Collection[O, C, In, Ch], id string) {
	t.Helper()
	if err := of.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// adminToken returns the token of the cloud that uses a data folder.
func adminToken(t *testing.T, dir string) string {
	t.Helper()
	token, err := favouritecloud.ReadAdminToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	return token
}
