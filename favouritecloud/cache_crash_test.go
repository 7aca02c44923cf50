// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

// TestCloudOfCachesKilledAtAnyTime kills the cloud while it makes, changes and removes a cache. The client repeats what it
// asked for; then there is exactly one server, as it was asked for, or none.
func TestCloudOfCachesKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	const longest = 300
	dir, password := newDataDir(t), ""
	steps := []func(*cloud, int) error{
		func(c *cloud, round int) error {
			in := cache.CreateInstanceInput{Name: "sessions", MemoryMegabytes: 8 + round}
			created, err := c.caches.CreateInstance(t.Context(), in, sdk.WithIdempotencyKey(fmt.Sprint(round)))
			if err == nil {
				password = created.Password
			}
			return err
		},
		func(c *cloud, round int) error {
			chosen := fmt.Sprint("password of round ", round)
			_, err := c.caches.UpdateInstance(t.Context(), "sessions", cache.UpdateInstanceInput{
				MemoryMegabytes: new(8 + round), Password: &chosen,
			})
			if err == nil {
				password = chosen
			}
			return err
		},
		func(c *cloud, _ int) error {
			if err := c.caches.DeleteInstance(t.Context(), "sessions"); !sdk.IsNotFound(err) {
				return err
			}
			return nil
		},
	}
	for round := range 9 {
		delay, step := time.Duration(rand.IntN(longest))*time.Millisecond, steps[round%len(steps)]
		t.Logf("round %d: killed after %s", round, delay)
		c, cloudProcess := spawnCloud(t, dir)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_ = step(c, round) // Repeated below: this answer may get lost.
		}()
		<-time.After(delay)
		cloudProcess.end(t, syscall.SIGKILL)
		<-answered

		c, _ = spawnCloud(t, dir)
		if err := step(c, round); err != nil {
			t.Fatalf("round %d: repeating: %v", round, err)
		}
		if round%len(steps) == 2 {
			verifyNoCache(t, c)
		} else {
			verifyCache(t, c, password, round)
		}
		c.stop()
	}
}

func verifyNoCache(t *testing.T, c *cloud) {
	t.Helper()
	eventually(t, "the cache to be gone", func() string {
		folders, err := os.ReadDir(filepath.Join(c.dir, "instances"))
		if left := serversIn(t, c.dir); len(left) > 0 || len(folders) > 0 || err != nil {
			return fmt.Sprint(left, folders, err)
		}
		return ""
	})
}

func verifyCache(t *testing.T, c *cloud, password string, round int) {
	t.Helper()
	online := c.awaitCache(t, "sessions")
	if info := ask(t, online, password, "INFO", "memory"); !strings.Contains(info, fmt.Sprintf("maxmemory:%d\r", (8+round)<<20)) {
		t.Errorf("round %d: the server says\n%s", round, info)
	}
	folders, err := os.ReadDir(filepath.Join(c.dir, "instances"))
	if servers := serversIn(t, c.dir); len(servers) != 1 || len(folders) != 1 || err != nil {
		t.Errorf("round %d: servers %v, folders %v, %v", round, servers, folders, err)
	}
}

func TestLostPortOfACacheIsReplaced(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c := startCloud(t, favouritecloud.Config{DataDir: dir})
	created := c.createCache(t, cache.CreateInstanceInput{Name: "sessions", MemoryMegabytes: 8})
	online := c.awaitCache(t, "sessions")
	ask(t, online, created.Password, "SET", "kept", "moved")
	c.stop()
	thief, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", online.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close() // The test is over.
	c = startCloud(t, favouritecloud.Config{DataDir: dir})
	moved := c.awaitCache(t, "sessions")
	if got := ask(t, moved, created.Password, "GET", "kept"); got != "moved" || moved.Port == online.Port {
		t.Errorf("on port %d, which was %d, the value is %q", moved.Port, online.Port, got)
	}
}
