// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

func (c *cloud) awaitCache(t *testing.T, name string) *cache.Instance {
	t.Helper()
	c.await(t, caches(), name)
	return get(t, c.caches, name)
}

func TestLifeOfACache(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	in := cache.CreateInstanceInput{Name: "sessions", MemoryMegabytes: 16, Labels: map[string]string{"team": "a"}}
	created := create(t, c.caches, in, sdk.WithIdempotencyKey("k"))
	if created.Status != sdk.StatusCreating || len(created.Password) != 32 || created.Replayed {
		t.Errorf("create answered status %s, a password of %d characters, replayed %t", created.Status, len(created.Password), created.Replayed)
	}
	if again := create(t, c.caches, cache.CreateInstanceInput{}, sdk.WithIdempotencyKey("k")); !again.Replayed || again.Password != created.Password {
		t.Errorf("the repeat was answered with %+v", again.Instance)
	}
	online := c.awaitCache(t, "sessions")
	want := &cache.Instance{
		ID: created.ID, Name: "sessions", MemoryMegabytes: 16, EvictionPolicy: cache.DefaultEvictionPolicy, Status: sdk.StatusOnline,
		Hostname: "127.0.0.1", Username: "default", Labels: map[string]string{"team": "a"}, CreatedAt: created.CreatedAt,
		Port: online.Port, EngineVersion: online.EngineVersion,
	}
	if diff := cmp.Diff(want, online); diff != "" {
		t.Errorf("online instance, -want +got:\n%s", diff)
	}
	if info := ask(t, online, created.Password, "INFO"); !strings.Contains(info, "redis_version:"+online.EngineVersion+".") ||
		!strings.Contains(info, "maxmemory:16777216\r") || !strings.Contains(info, "maxmemory_policy:volatile-lru\r") {
		t.Errorf("the API has version %s, the server\n%s", online.EngineVersion, info)
	}
	if got := ask(t, online, created.Password, "SET", "greeting", "hello"); got != "OK" {
		t.Errorf("SET answers %q", got)
	}

	updateCache(t, c, created)

	remove(t, c.caches, "sessions")
	c.awaitDeleted(t, caches(), "sessions")
	folders, err := os.ReadDir(filepath.Join(c.dir, "instances"))
	if left := serversIn(t, c.dir); len(left) > 0 || len(folders) > 0 || err != nil {
		t.Errorf("after the delete there are servers %v and folders %v, error %v", left, folders, err)
	}
}

// updateCache changes every setting, without a restart of the server.
func updateCache(t *testing.T, c *cloud, created *cache.CreatedInstance) {
	t.Helper()
	before := serversIn(t, c.dir)
	connected, err := open(t, c.awaitCache(t, created.Name), created.Password)
	if err != nil {
		t.Fatal(err)
	}
	const chosen = "p@ss \"word'#1"
	updated, err := c.caches.Update(t.Context(), created.Name, cache.UpdateInstanceInput{
		MemoryMegabytes: new(32), EvictionPolicy: new("allkeys-lfu"), Password: new(chosen), Labels: map[string]string{"team": "b"},
	})
	if err != nil || updated.Status != sdk.StatusUpdating {
		t.Fatalf("update answered %+v, %v", updated, err)
	}
	online := c.awaitCache(t, created.Name)
	if online.MemoryMegabytes != 32 || online.EvictionPolicy != "allkeys-lfu" || online.Labels["team"] != "b" {
		t.Errorf("after the update the API has %+v", online)
	}
	if info := ask(t, online, chosen, "INFO", "memory"); !strings.Contains(info, "maxmemory:33554432\r") ||
		!strings.Contains(info, "maxmemory_policy:allkeys-lfu\r") {
		t.Errorf("after the update the server has\n%s", info)
	}
	if got, err := connected.do("GET", "greeting"); got != "hello" || err != nil {
		t.Errorf("a client that was connected reads %q, %v", got, err)
	}
	if _, err := open(t, online, created.Password); err == nil {
		t.Error("the old password opens the server")
	}
	if after := serversIn(t, c.dir); !slices.Equal(before, after) {
		t.Errorf("servers %v became %v", before, after)
	}
}

func TestClientsOfCachesAreNoAdministrators(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	created := create(t, c.caches, cache.CreateInstanceInput{Name: "sessions", MemoryMegabytes: 16})
	online := c.awaitCache(t, "sessions")
	if _, err := open(t, online, "wrong-password"); err == nil || !strings.HasPrefix(err.Error(), "WRONGPASS") {
		t.Errorf("a wrong password: %v", err)
	}
	stranger, _ := open(t, online, "")
	if got, err := stranger.do("GET", "x"); err == nil {
		t.Errorf("without a password the answer is %q", got)
	}
	client, err := open(t, online, created.Password)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"CONFIG", "GET", "dir"}, {"ACL", "LIST"}, {"SHUTDOWN"}, {"REPLICAOF", "x", "1"}} {
		if got, err := client.do(command...); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%v answers %q, %v", command, got, err)
		}
	}
	folder := filepath.Join(c.dir, "instances", fmt.Sprintf("cache-%d", created.ID))
	config, err := os.ReadFile(filepath.Join(folder, "redis.conf"))
	if info, statErr := os.Stat(filepath.Join(folder, "redis.conf")); err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("configuration file: %v, %v, %v", info, err, statErr)
	}
	log, logErr := os.ReadFile(filepath.Join(folder, "server.log"))
	arguments, argumentsErr := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", serversIn(t, c.dir)[0]))
	if err := errors.Join(logErr, argumentsErr); err != nil {
		t.Fatal(err)
	}
	if all := string(config) + string(log) + string(arguments); strings.Contains(all, created.Password) {
		t.Error("the password is in the configuration, log or arguments")
	}
}

func TestCacheRefusals(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	good := cache.CreateInstanceInput{Name: "sessions", MemoryMegabytes: 16}
	cases := map[string]struct {
		edit func(*cache.CreateInstanceInput)
		want string
	}{
		"name":       {func(in *cache.CreateInstanceInput) { in.Name = "Sessions" }, `name "Sessions" is not valid`},
		"no memory":  {func(in *cache.CreateInstanceInput) { in.MemoryMegabytes = 0 }, "memory_megabytes 0 is not valid: it must be 8 to 16384"},
		"too much":   {func(in *cache.CreateInstanceInput) { in.MemoryMegabytes = 16385 }, "memory_megabytes 16385"},
		"policy":     {func(in *cache.CreateInstanceInput) { in.EvictionPolicy = new("lru") }, "must be one of noeviction, allkeys-lru"},
		"version":    {func(in *cache.CreateInstanceInput) { in.EngineVersion = new("2.8") }, `engine_version "2.8" is not available: this cloud has Redis`},
		"password":   {func(in *cache.CreateInstanceInput) { in.Password = new("short") }, "password is not valid"},
		"label keys": {func(in *cache.CreateInstanceInput) { in.Labels = map[string]string{"": ""} }, "label key"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := good
			tc.edit(&in)
			_, err := c.caches.Create(t.Context(), in)
			if !sdk.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if list, err := c.caches.List(t.Context(), nil); err != nil || len(list) > 0 {
		t.Errorf("what was refused is there: %v, %v", list, err)
	}
}
