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
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

func TestServerThatDiesIsRestarted(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t), RetryInterval: 2 * time.Second})
		password := c.mustCreate(t, e, "orders")
		online := c.await(t, e, "orders")
		e.write(t, online, password, "still there")
		killServer(t, c, e, "orders")
		killServer(t, c, e, "orders")
		again := c.await(t, e, "orders")
		if got := e.read(t, again, password); got != "still there" || again.Port != online.Port {
			t.Errorf("read %q on port %d, which was %d", got, again.Port, online.Port)
		}
	})
}

// killServer kills the only server and returns when another one is online.
func killServer(t *testing.T, c *cloud, e engine, name string) {
	t.Helper()
	before := serversIn(t, c.dir)
	if len(before) != 1 {
		t.Fatalf("servers: %v", before)
	}
	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another server to run", func() string { // Until the cloud notices, the dead server counts as online.
		after := serversIn(t, c.dir)
		at, err := c.get(t, e, name)
		if err == nil && at.Status == sdk.StatusOnline && len(after) == 1 && after[0] != before[0] {
			conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", at.Port))
			if err == nil {
				err = conn.Close()
			}
			if err == nil {
				return ""
			}
		}
		return fmt.Sprint(at.Status, " ", at.Message, " ", err, " ", after)
	})
}

func TestServersOutliveAKilledCloud(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		dir := newDataDir(t)
		c, cloudProcess := spawnCloud(t, dir)
		password := c.mustCreate(t, e, "orders")
		online := c.await(t, e, "orders")
		before := serversIn(t, dir)
		if session, err := unix.Getsid(before[0]); err != nil || session != before[0] {
			t.Errorf("server %d is in session %d, error %v: a terminal's Ctrl-C would reach it", before[0], session, err)
		}
		cloudProcess.end(t, syscall.SIGKILL)
		e.write(t, online, password, "while the cloud was down")

		c, _ = spawnCloud(t, dir)
		if at, err := c.get(t, e, "orders"); err != nil || at.Status != sdk.StatusOnline {
			t.Errorf("an adopted server is not online at once: %v, error %v", at, err)
		}
		if after := serversIn(t, dir); !slices.Equal(before, after) {
			t.Fatalf("servers before %v, after %v", before, after)
		}
		if err := c.update(t, e, "orders", e.field, 30); err != nil {
			t.Fatal(err)
		}
		if size := e.size(t, c.await(t, e, "orders"), password); size != 30 {
			t.Errorf("an adopted server has size %d after an update", size)
		}
		killServer(t, c, e, "orders")
		c.stop()
		if left := serversIn(t, dir); len(left) > 0 {
			t.Errorf("servers outlive a cloud that was stopped: %v", left)
		}
		c, _ = spawnCloud(t, dir)
		if got := e.read(t, c.await(t, e, "orders"), password); got != "while the cloud was down" {
			t.Errorf("after two restarts the value is %q", got)
		}
	})
}

func TestLeftoversWithoutRecordAreRemoved(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		dir := newDataDir(t)
		c, cloudProcess := spawnCloud(t, dir)
		c.mustCreate(t, e, "orders")
		c.await(t, e, "orders")
		cloudProcess.end(t, syscall.SIGKILL)
		bystander := filepath.Join(dir, "instances", "not-ours")
		if err := errors.Join(os.Remove(filepath.Join(dir, "state.db")), os.Mkdir(bystander, 0o700)); err != nil {
			t.Fatal(err)
		}
		spawnCloud(t, dir)
		if left := serversIn(t, dir); len(left) > 0 {
			t.Errorf("servers without a record: %v", left)
		}
		if _, err := os.Stat(filepath.Join(dir, "instances", e.service+"-1")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("folder without a record: %v", err)
		}
		if _, err := os.Stat(bystander); err != nil {
			t.Errorf("a folder that does not belong to the cloud: %v", err)
		}
	})
}

func TestMissingProgramIsFoundWithoutRestart(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		folder := t.TempDir()
		config := favouritecloud.Config{DataDir: newDataDir(t), RetryInterval: 200 * time.Millisecond}
		need := e.hide(&config, folder)
		c := startCloud(t, config)
		password := c.mustCreate(t, e, "orders")
		c.awaitFailure(t, e, "orders", need)
		c.mustCreate(t, e, "deleted")
		c.awaitFailure(t, e, "deleted", need)
		remove(t, c.instances(e), "deleted")
		c.awaitDeleted(t, e, "deleted")
		e.install(t, folder)
		e.write(t, c.await(t, e, "orders"), password, "installed")
	})
}

func TestStopAndStart(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		dir := newDataDir(t)
		c := startCloud(t, favouritecloud.Config{DataDir: dir})
		password := c.mustCreate(t, e, "orders")
		online := c.await(t, e, "orders")
		e.write(t, online, password, "still there")
		c.stop()
		if left := serversIn(t, dir); len(left) > 0 {
			t.Errorf("servers outlive the cloud: %v", left)
		}
		if _, err := favouritecloud.ReadEndpoint(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a stopped cloud still has an endpoint: %v", err)
		}

		c = startCloud(t, favouritecloud.Config{DataDir: dir})
		again := c.await(t, e, "orders")
		if got := e.read(t, again, password); got != "still there" || again.Port != online.Port || again.ID != online.ID {
			t.Errorf("read %q from id %d on port %d, was id %d on port %d", got, again.ID, again.Port, online.ID, online.Port)
		}
		c.stop()

		other, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", online.Port))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		c = startCloud(t, favouritecloud.Config{DataDir: dir})
		moved := c.await(t, e, "orders")
		if got := e.read(t, moved, password); got != "still there" || moved.Port == online.Port {
			t.Errorf("after another program took port %d, read %q on port %d", online.Port, got, moved.Port)
		}
	})
}

// seedVariable repeats a run of TestKilledAtAnyTime.
const seedVariable = "FAVOURITECLOUD_TEST_SEED"

// TestKilledAtAnyTime kills the cloud repeatedly while it creates, changes and deletes instances. After each kill there must be one
// server for each instance that the client knows of, and nothing else.
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
		v := &victim{engine: e, dir: newDataDir(t), random: rand.New(rand.NewPCG(seed, 0)), passwords: map[string]string{}}
		v.rounds, v.longest = 12, 1500
		if e.service == "cache" {
			v.rounds, v.longest = 9, 300
		}
		for v.round = range v.rounds {
			v.disturb(t)
			v.verify(t)
		}
	})
}

// victim is a cloud that is killed, and what its client knows of it.
type victim struct {
	engine
	dir                    string
	random                 *rand.Rand
	round, rounds, longest int               // longest is in milliseconds
	passwords              map[string]string // of the instances that must exist
}

// disturb requests a change and kills the cloud in the meantime; then it repeats the request, as every client must whose request
// may have been lost.
func (v *victim) disturb(t *testing.T) {
	t.Helper()
	const names = 2
	name := fmt.Sprintf("db-%d", v.random.IntN(names))
	what, request := v.choose(t, name)
	delay := time.Duration(v.random.IntN(v.longest)) * time.Millisecond
	t.Logf("round %d: %s %s, killed after %s", v.round, what, name, delay)

	c, cloudProcess := spawnCloud(t, v.dir)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_ = request(c) // Repeated below: this answer may get lost.
	}()
	<-time.After(delay)
	cloudProcess.end(t, syscall.SIGKILL)
	<-answered

	c, _ = spawnCloud(t, v.dir)
	defer c.stop()
	if err := request(c); err != nil {
		t.Fatalf("round %d: repeating %s: %v", v.round, what, err)
	}
	if what == "delete" {
		c.awaitDeleted(t, v.engine, name)
		delete(v.passwords, name)
	} else {
		c.await(t, v.engine, name)
	}
}

func (v *victim) choose(t *testing.T, name string) (what string, request func(*cloud) error) {
	token, password, size := fmt.Sprintf("round-%d", v.round), fmt.Sprintf("password of round %d", v.round), 11+v.random.IntN(50)
	_, exists := v.passwords[name]
	switch {
	case !exists:
		return "create", func(c *cloud) error {
			created, err := c.newInstance(t, v.engine, name, sdk.WithIdempotencyKey(token))
			if first, ok := v.passwords[name]; ok && err == nil && first != created {
				return errors.New("the repeated request got another password")
			}
			if err == nil {
				v.passwords[name] = created
			}
			return err
		}
	case v.random.IntN(3) == 0:
		return "delete", func(c *cloud) error {
			if err := c.instances(v.engine).Delete(t.Context(), name); !sdk.IsNotFound(err) {
				return err
			}
			return nil
		}
	case v.random.IntN(2) == 0:
		return "password", func(c *cloud) error {
			err := c.update(t, v.engine, name, "password", password)
			if err == nil {
				v.passwords[name] = password
			}
			return err
		}
	default:
		return "update", func(c *cloud) error { return c.update(t, v.engine, name, v.field, size) }
	}
}

// verify compares servers, folders and records, and uses every password.
func (v *victim) verify(t *testing.T) {
	t.Helper()
	if left := serversIn(t, v.dir); len(left) > 0 {
		t.Fatalf("round %d: servers outlive a stopped cloud: %v", v.round, left)
	}
	c, _ := spawnCloud(t, v.dir)
	defer c.stop()
	listed, err := c.instances(v.engine).List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range listed {
		online := c.await(t, v.engine, i.Name)
		if got := v.size(t, online, v.passwords[i.Name]); got != online.size() {
			t.Errorf("round %d: %s: the server has size %d, the API %d", v.round, i.Name, got, online.size())
		}
	}
	folders, err := os.ReadDir(filepath.Join(v.dir, "instances"))
	if err != nil {
		t.Fatal(err)
	}
	servers := serversIn(t, v.dir)
	if want := len(v.passwords); len(listed) != want || len(folders) != want || len(servers) != want {
		t.Fatalf("round %d: %d instances, %d folders, %d servers; want %d of each", v.round, len(listed), len(folders), len(servers), want)
	}
}
