// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

func TestLifeOfAnInstance(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})

	created := create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20, Labels: map[string]string{"team": "a"}})
	if created.Status != sdk.StatusCreating || len(created.Password) != 32 || created.Replayed {
		t.Errorf("create answered status %s, a password of %d characters, replayed %t", created.Status, len(created.Password), created.Replayed)
	}
	online := c.awaitOnline(t, "orders")
	want := &database.Instance{
		ID: created.ID, Name: "orders", FancinessLevel: 20, Status: sdk.StatusOnline, Hostname: "127.0.0.1",
		Username: "postgres", Labels: map[string]string{"team": "a"}, CreatedAt: created.CreatedAt,
		Port: online.Port, Version: online.Version,
	}
	if diff := cmp.Diff(want, online); diff != "" {
		t.Errorf("online instance, -want +got:\n%s", diff)
	}
	if v := query(t, online, created.Password, "show server_version"); !strings.HasPrefix(v, online.Version+".") {
		t.Errorf("server has version %s, the API has %s", v, online.Version)
	}
	if conn, err := pgx.Connect(t.Context(), online.URL("wrong")); err == nil {
		t.Errorf("a wrong password opened the database: %v", conn.Close(t.Context()))
	}

	level := 33
	updated, err := c.databases.Update(t.Context(), "orders", database.UpdateInstanceInput{FancinessLevel: &level})
	if err != nil {
		t.Fatal(err)
	}
	if updated.Status != sdk.StatusUpdating {
		t.Errorf("update answered status %s", updated.Status)
	}
	online = c.awaitOnline(t, "orders")
	if got := query(t, online, created.Password, "show max_connections"); got != "33" {
		t.Errorf("max_connections is %s after the update", got)
	}

	deleteInstance(t, c, created)
}

func deleteInstance(t *testing.T, c *cloud, created *database.CreatedInstance) {
	t.Helper()
	remove(t, c.databases, created.Name)
	c.awaitDeleted(t, databases(), created.Name)
	if left := serversIn(t, c.dir); len(left) > 0 {
		t.Errorf("servers run after the delete: %v", left)
	}
	folders, err := os.ReadDir(filepath.Join(c.dir, "instances"))
	if err != nil || len(folders) > 0 {
		t.Errorf("after the delete the folder holds %v, error %v", folders, err)
	}
	if err := c.databases.Delete(t.Context(), created.Name); !sdk.IsNotFound(err) {
		t.Errorf("deleting it again: %v", err)
	}
	again := create(t, c.databases, database.CreateInstanceInput{Name: created.Name, FancinessLevel: 20})
	if again.ID <= created.ID {
		t.Errorf("id %d was given after id %d", again.ID, created.ID)
	}
}

func TestUpdateDuringUpdate(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	created := create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	c.awaitOnline(t, "orders")
	before := serversIn(t, c.dir)
	for _, level := range []int{30, 40} {
		if _, err := c.databases.Update(t.Context(), "orders", database.UpdateInstanceInput{FancinessLevel: &level}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the first update to be under way", func() string {
			if after := serversIn(t, c.dir); slices.Equal(before, after) {
				return fmt.Sprint(after)
			}
			return ""
		})
	}
	online := c.awaitOnline(t, "orders") // Never for the first level.
	if got := query(t, online, created.Password, "show max_connections"); got != "40" || online.FancinessLevel != 40 {
		t.Errorf("online with level %d and max_connections %s", online.FancinessLevel, got)
	}
}

func TestReasonOfAFailureIsShown(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t), RetryInterval: 500 * time.Millisecond})
	created := create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	c.awaitOnline(t, "orders")
	configuration := filepath.Join(c.dir, "instances", fmt.Sprintf("database-%d", created.ID), "data", "postgresql.auto.conf")
	good, err := os.ReadFile(configuration)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(configuration, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(serversIn(t, c.dir)[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.awaitFailure(t, databases(), "orders", "contains errors")
	shown := map[string]bool{}
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for range 60 { // Several attempts long.
		i, err := c.databases.Get(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		shown[i.Status+" "+i.Message] = true
		<-tick.C
	}
	if len(shown) != 1 {
		t.Errorf("what is shown changes with each attempt: %v", shown)
	}

	if err := os.WriteFile(configuration, good, 0o600); err != nil {
		t.Fatal(err)
	}
	query(t, c.awaitOnline(t, "orders"), created.Password, "select 'mended'")
}

func TestVersions(t *testing.T) {
	t.Parallel()
	missing, installed := startPaperCloud(t), startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	create(t, missing.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20, Version: new("15")})
	missing.awaitFailure(t, databases(), "orders", "apt-get install postgresql-15)")
	_, err := installed.databases.Create(t.Context(), database.CreateInstanceInput{Name: "old", FancinessLevel: 20, Version: new("9")})
	if !sdk.IsInvalid(err) {
		t.Errorf("requesting a version that is not installed: %v", err)
	}
}

// TestReusedPidIsNotBelieved creates the state after a crash of the machine: a pid file whose pid is that of another server.
func TestReusedPidIsNotBelieved(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c, cloudProcess := spawnCloud(t, dir)
	stranger := create(t, c.databases, database.CreateInstanceInput{Name: "stranger", FancinessLevel: 20})
	c.awaitOnline(t, "stranger")
	strangerPid := serversIn(t, dir)[0]
	victim := create(t, c.databases, database.CreateInstanceInput{Name: "victim", FancinessLevel: 20})
	c.awaitOnline(t, "victim")

	cloudProcess.end(t, syscall.SIGKILL)
	pidFile := filepath.Join(dir, "instances", fmt.Sprintf("database-%d", victim.ID), "data", "postmaster.pid")
	content, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, rest, _ := strings.Cut(string(content), "\n")
	victimPid, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(victimPid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pidFile, fmt.Appendf(nil, "%d\n%s", strangerPid, rest), 0o600); err != nil {
		t.Fatal(err)
	}

	c, _ = spawnCloud(t, dir)
	query(t, c.awaitOnline(t, "victim"), victim.Password, "select 'restarted'")
	query(t, c.awaitOnline(t, "stranger"), stranger.Password, "select 'left alone'")
	if servers := serversIn(t, dir); len(servers) != 2 || !slices.Contains(servers, strangerPid) {
		t.Errorf("servers %v; the other server was %d", servers, strangerPid)
	}
}
