// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

func TestLifeOfAnInstance(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		c := startCloud(t, favouritecloud.Config{RetryInterval: 2 * time.Second})
		created, err := c.instances(e).Create(t.Context(), object{"name": "orders", e.field: 20, "labels": object{"team": "a"}})
		if err != nil || created.Status != sdk.StatusCreating || len(created.Password) != 32 {
			t.Fatalf("create answered status %s, a password of %d characters, error %v", created.Status, len(created.Password), err)
		}
		password := created.Password
		online := c.awaitOnline(t, e, "orders")
		want := *created
		want.Status, want.Password, want.Hostname, want.Username = sdk.StatusOnline, "", "127.0.0.1", e.username
		want.Port, want.Version, want.EngineVersion = online.Port, online.Version, online.EngineVersion
		if diff := cmp.Diff(want, online); diff != "" || online.size() != 20 || online.Version+online.EngineVersion == "" {
			t.Errorf("online instance %v, -want +got:\n%s", online, diff)
		}
		if e.opens(t, online, "wrong") {
			t.Error("a wrong password opens the server")
		}
		e.ask(t, online, password, e.write)
		if updated := c.update(t, e, "orders", e.field, 33); updated.Status != sdk.StatusUpdating {
			t.Errorf("update answered status %s", updated.Status)
		}
		expectSize(t, c, e, password, "33")
		killServer(t, c, e, "orders")
		killServer(t, c, e, "orders")
		expectKept(t, c, e, online, password)
		c.stop()
		if left := serversIn(t, c.dir); len(left) > 0 {
			t.Errorf("servers outlive the cloud: %v", left)
		}
		_, endpointErr := favouritecloud.ReadEndpoint(c.dir)
		_, pidErr := os.Stat(filepath.Join(c.dir, "pid"))
		if !errors.Is(endpointErr, fs.ErrNotExist) || !errors.Is(pidErr, fs.ErrNotExist) {
			t.Errorf("a stopped cloud still has an endpoint or a pid: %v, %v", endpointErr, pidErr)
		}

		c = spawnCloud(t, c.dir)
		expectKept(t, c, e, online, password)
		c = killCloud(t, c, e, online, password)
		c.stop()

		other, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", online.Port))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close() // The test is over.
		c = spawnCloud(t, c.dir)
		moved := c.awaitOnline(t, e, "orders")
		if moved.Port == online.Port {
			t.Errorf("the server uses port %d of another program", moved.Port)
		}
		expectKept(t, c, e, moved, password)
		deleteAll(t, c, e, online)
	})
}

// killCloud kills the cloud and returns the next one, which must adopt the server.
func killCloud(t *testing.T, c *cloud, e engine, online state, password string) *cloud {
	t.Helper()
	before := serversIn(t, c.dir)
	if session, err := unix.Getsid(before[0]); err != nil || session != before[0] {
		t.Errorf("server %d is in session %d, error %v: a terminal's Ctrl-C would reach it", before[0], session, err)
	}
	c.kill()
	e.ask(t, online, password, e.read)
	c = spawnCloud(t, c.dir)
	if at, err := c.instances(e).Get(t.Context(), "orders"); err != nil || at.Status != sdk.StatusOnline {
		t.Errorf("an adopted server is not online at once: %v, error %v", at, err)
	}
	if after := serversIn(t, c.dir); !slices.Equal(before, after) {
		t.Errorf("servers before %v, after %v", before, after)
	}
	c.update(t, e, "orders", e.field, 30)
	expectSize(t, c, e, password, "30")
	killServer(t, c, e, "orders")
	return c
}

func instanceFolders(c *cloud) ([]fs.DirEntry, error) {
	found, err := os.ReadDir(filepath.Join(c.dir, "instances"))
	return slices.DeleteFunc(found, func(e fs.DirEntry) bool { return !e.IsDir() }), err // the lock is a file
}

// deleteAll deletes the instance, and then the record of its successor without its server.
func deleteAll(t *testing.T, c *cloud, e engine, first state) {
	t.Helper()
	c.delete(t, e, "orders")
	folders, err := instanceFolders(c)
	if left := serversIn(t, c.dir); len(left) > 0 || len(folders) > 0 || err != nil {
		t.Errorf("after the delete there are servers %v and folders %v, error %v", left, folders, err)
	}
	if err := c.instances(e).Delete(t.Context(), "orders"); !sdk.IsNotFound(err) {
		t.Errorf("deleting it again: %v", err)
	}
	c.create(t, e, "orders")
	again := c.awaitOnline(t, e, "orders")
	if again.ID <= first.ID {
		t.Errorf("id %d was given after id %d", again.ID, first.ID)
	}
	c.kill()
	bystander := filepath.Join(c.dir, "instances", "not-ours")
	if err := errors.Join(deleteRecords(c.dir, e.service+" instance"), os.Mkdir(bystander, 0o700)); err != nil {
		t.Fatal(err)
	}
	c = spawnCloud(t, c.dir)
	if left := serversIn(t, c.dir); len(left) > 0 {
		t.Errorf("servers without a record: %v", left)
	}
	if _, err := os.Stat(c.folder(e, again.ID)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folder without a record: %v", err)
	}
	if _, err := os.Stat(bystander); err != nil {
		t.Errorf("a folder that does not belong to the cloud: %v", err)
	}
}

// deleteRecords deletes a table of a stopped cloud.
func deleteRecords(dir, table string) error {
	db, err := bbolt.Open(filepath.Join(dir, "state.db"), 0o600, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(table)) }), db.Close())
}

func expectSize(t *testing.T, c *cloud, e engine, password, want string) {
	t.Helper()
	if size := e.size(e.ask(t, c.awaitOnline(t, e, "orders"), password, e.show)); size != want {
		t.Errorf("size %s after the update", size)
	}
}

// expectKept waits until the instance is online, and expects its data, id and port.
func expectKept(t *testing.T, c *cloud, e engine, before state, password string) {
	t.Helper()
	at := c.awaitOnline(t, e, before.Name)
	if got := e.ask(t, at, password, e.read); got != "kept" || at.Port != before.Port || at.ID != before.ID {
		t.Errorf("read %q from id %d on port %d, was id %d on port %d", got, at.ID, at.Port, before.ID, before.Port)
	}
}

// killServer kills the only server and returns when another one is online.
func killServer(t *testing.T, c *cloud, e engine, name string) {
	t.Helper()
	before := serversIn(t, c.dir)
	if len(before) != 1 {
		t.Fatalf("servers: %v", before)
	}
	if err := syscall.Kill(before[0], syscall.SIGSTOP); err != nil { // Processes that it has just forked outlive it for a moment.
		t.Fatal(err)
	}
	old := processesIn(t, c.dir)
	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another server to run", func() string { // Until the cloud notices, the dead server counts as online.
		after := serversIn(t, c.dir)
		if len(after) != 1 {
			return fmt.Sprint(after)
		}
		if _, isOld := old[after[0]]; isOld {
			return fmt.Sprint(after)
		}
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", c.awaitOnline(t, e, name).Port))
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
}

func TestMissingProgramIsFoundWithoutRestart(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		folder := t.TempDir()
		config := favouritecloud.Config{RetryInterval: 200 * time.Millisecond}
		need := e.hide(&config, folder)
		c := startCloud(t, config)
		password := c.create(t, e, "orders")
		absent := object{"name": "deleted", e.field: 20, e.version: e.absent}
		if _, err := c.instances(e).Create(t.Context(), absent); err != nil {
			t.Fatal(err)
		}
		c.await(t, e, "orders", sdk.StatusFailed, need)
		c.await(t, e, "deleted", sdk.StatusFailed, e.advice)
		c.delete(t, e, "deleted")
		if err := e.install(folder); err != nil {
			t.Fatal(err)
		}
		e.ask(t, c.awaitOnline(t, e, "orders"), password, e.write)
		body := fmt.Sprintf(`{"name":"deleted",%q:20,%q:%q}`, e.field, e.version, e.absent)
		c.refuseAll(t, map[string]refusal{"version that is not installed, beside one that is": {
			"POST", e.service + "/instances", body, 422, sdk.CodeInvalid, fmt.Sprintf("%q is not available: this cloud has", e.absent),
		}})
	})
}

// TestStopLeavesNothing is not parallel: it checks all goroutines of the process, and the parallel tests wait for it.
func TestStopLeavesNothing(t *testing.T) {
	c, e := startCloud(t, favouritecloud.Config{}), databases()
	for _, name := range []string{"kept", "half-created", "deleted"} {
		c.create(t, e, name)
	}
	c.awaitOnline(t, e, "kept")
	if err := c.instances(e).Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	c.stop()

	if left := serversIn(t, c.dir); len(left) > 0 {
		t.Errorf("servers are left: %v", left)
	}
	listener, err := net.Listen("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatalf("port is left: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "goroutines to end", func() string {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for stack := range strings.SplitSeq(string(stacks), "\n\n") {
			if strings.Contains(stack, "favouritecloud/internal/") || strings.Contains(stack, "favouritecloud.(*Server)") {
				return stack
			}
		}
		return ""
	})

	c = startCloud(t, favouritecloud.Config{DataDir: c.dir}) // The lock is not left either.
	c.awaitOnline(t, e, "kept")
	c.awaitOnline(t, e, "half-created")
	c.delete(t, e, "deleted")
}

func TestUpdateDuringUpdate(t *testing.T) {
	t.Parallel()
	c, e := startCloud(t, favouritecloud.Config{}), databases()
	password := c.create(t, e, "orders")
	c.awaitOnline(t, e, "orders")
	before := serversIn(t, c.dir)
	for _, level := range []int{30, 40} {
		c.update(t, e, "orders", e.field, level)
		eventually(t, "the first update to be under way", func() string {
			if after := serversIn(t, c.dir); slices.Equal(before, after) {
				return fmt.Sprint(after)
			}
			return ""
		})
	}
	online := c.awaitOnline(t, e, "orders") // Never for the first level.
	if got := e.ask(t, online, password, e.show); got != "40" || online.Fanciness != 40 {
		t.Errorf("online with level %d and max_connections %s", online.Fanciness, got)
	}
}

func TestReasonOfAFailureIsShown(t *testing.T) {
	t.Parallel()
	c, e := startCloud(t, favouritecloud.Config{RetryInterval: 300 * time.Millisecond}), databases()
	c.create(t, e, "orders")
	online := c.awaitOnline(t, e, "orders")
	configuration := filepath.Join(c.folder(e, online.ID), "data", "postgresql.auto.conf")
	good, err := os.ReadFile(configuration)
	err = errors.Join(err, os.WriteFile(configuration, []byte("nonsense\n"), 0o600),
		syscall.Kill(serversIn(t, c.dir)[0], syscall.SIGKILL))
	if err != nil {
		t.Fatal(err)
	}
	first := c.await(t, e, "orders", sdk.StatusFailed, "contains errors")
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for range 40 { // Several attempts long.
		if now, err := c.instances(e).Get(t.Context(), "orders"); err != nil || !cmp.Equal(first, *now) {
			t.Fatalf("the answer changes with each attempt: error %v, -first +now:\n%s", err, cmp.Diff(first, *now))
		}
		<-tick.C
	}
	if err := os.WriteFile(configuration, good, 0o600); err != nil {
		t.Fatal(err)
	}
	c.awaitOnline(t, e, "orders")
}

// TestReusedPidIsNotBelieved creates the state after a crash of the machine: a pid file whose pid is that of another server.
func TestReusedPidIsNotBelieved(t *testing.T) {
	t.Parallel()
	c, e := spawnCloud(t, newDataDir(t)), databases()
	strangers := c.create(t, e, "stranger")
	c.awaitOnline(t, e, "stranger")
	stranger := serversIn(t, c.dir)[0]
	victims := c.create(t, e, "victim")
	victim := c.awaitOnline(t, e, "victim")

	c.kill()
	pidFile := filepath.Join(c.folder(e, victim.ID), "data", "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	pid, rest, _ := strings.Cut(string(content), "\n")
	victimPid, pidErr := strconv.Atoi(pid)
	if err := errors.Join(err, pidErr); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(syscall.Kill(victimPid, syscall.SIGKILL),
		os.WriteFile(pidFile, fmt.Appendf(nil, "%d\n%s", stranger, rest), 0o600))
	if err != nil {
		t.Fatal(err)
	}

	c = spawnCloud(t, c.dir)
	e.ask(t, c.awaitOnline(t, e, "victim"), victims, "select 'restarted'")
	e.ask(t, c.awaitOnline(t, e, "stranger"), strangers, "select 'left alone'")
	if servers := serversIn(t, c.dir); len(servers) != 2 || !slices.Contains(servers, stranger) {
		t.Errorf("servers %v; the other server was %d", servers, stranger)
	}
}

// seedVariable repeats a run of TestKilledAtAnyTime.
const seedVariable = "FAVOURITECLOUD_TEST_SEED"

// TestKilledAtAnyTime kills the cloud repeatedly while it creates, changes and deletes instances. After each kill there must be
// one server for each instance that the client knows of, and nothing else.
func TestKilledAtAnyTime(t *testing.T) {
	seed := rand.Uint64()
	if s := os.Getenv(seedVariable); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("repeat with %s=%d", seedVariable, seed)
	forEachEngine(t, func(t *testing.T, e engine) {
		v := &victim{engine: e, cloud: spawnCloud(t, newDataDir(t)), passwords: map[string]string{}}
		v.random = rand.New(rand.NewPCG(seed, 0))
		for v.round = range 12 {
			v.disturb(t)
			v.verify(t)
		}
	})
}

// victim is a cloud that is killed, and what its client knows of it.
type victim struct {
	engine
	cloud     *cloud
	random    *rand.Rand
	round     int
	passwords map[string]string // of the instances that must exist
}

// disturb requests a change and kills the cloud in the meantime; then it repeats the request, as every client must whose request
// may have been lost.
func (v *victim) disturb(t *testing.T) {
	t.Helper()
	name := fmt.Sprintf("db-%d", v.random.IntN(2))
	what, longest, request := v.choose(t, name)
	delay := time.Duration(v.random.Int64N(int64(longest)))
	t.Logf("round %d: %s %s, killed after %s", v.round, what, name, delay)

	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_ = request(v.cloud) // Repeated below: this answer may get lost.
	}()
	<-time.After(delay)
	v.cloud.kill()
	<-answered

	v.cloud = spawnCloud(t, v.cloud.dir)
	if err := request(v.cloud); err != nil {
		t.Fatalf("round %d: repeating %s: %v", v.round, what, err)
	}
	if what == "delete" {
		v.cloud.delete(t, v.engine, name)
		delete(v.passwords, name)
	} else {
		v.cloud.awaitOnline(t, v.engine, name)
	}
}

// choose returns a request and the longest time until the cloud is killed: about the time that the request takes to apply.
func (v *victim) choose(t *testing.T, name string) (what string, longest time.Duration, request func(*cloud) error) {
	_, exists := v.passwords[name]
	password, size := fmt.Sprintf("password of round %d", v.round), 11+v.random.IntN(50)
	longest = 1200 * time.Millisecond
	if v.service == "cache" {
		longest /= 4
	}
	update := func(c *cloud, field string, value any) error {
		_, err := c.instances(v.engine).Update(t.Context(), name, object{field: value})
		return err
	}
	switch {
	case !exists:
		return "create", longest, func(c *cloud) error {
			in, key := object{"name": name, v.field: 20}, sdk.WithIdempotencyKey(fmt.Sprintf("round-%d", v.round))
			created, err := c.instances(v.engine).Create(t.Context(), in, key)
			if err != nil {
				return err
			}
			if first, ok := v.passwords[name]; ok && first != created.Password {
				return errors.New("the repeated request got another password")
			}
			v.passwords[name] = created.Password
			return nil
		}
	case v.random.IntN(4) == 0:
		return "delete", longest / 2, func(c *cloud) error {
			if err := c.instances(v.engine).Delete(t.Context(), name); !sdk.IsNotFound(err) {
				return err
			}
			return nil
		}
	case v.random.IntN(3) > 0:
		return "password", longest / 20, func(c *cloud) error {
			v.passwords[name] = password
			return update(c, "password", password)
		}
	default:
		return "update", longest / 2, func(c *cloud) error { return update(c, v.field, size) }
	}
}

// verify compares servers, folders and records, and uses every password.
func (v *victim) verify(t *testing.T) {
	t.Helper()
	c := v.cloud
	listed, err := c.instances(v.engine).List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range listed {
		online := c.awaitOnline(t, v.engine, i.Name)
		if got := v.size(v.ask(t, online, v.passwords[i.Name], v.show)); got != strconv.Itoa(online.size()) {
			t.Errorf("round %d: %s: the server has size %s, the API %d", v.round, i.Name, got, online.size())
		}
	}
	folders, err := instanceFolders(c)
	if err != nil {
		t.Fatal(err)
	}
	servers := serversIn(t, c.dir)
	if want := len(v.passwords); len(listed) != want || len(folders) != want || len(servers) != want {
		t.Fatalf("round %d: instances %v, folders %v, servers %v; want %d of each", v.round, listed, folders, servers, want)
	}
}
