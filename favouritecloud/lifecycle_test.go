// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

	created := c.create(t, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20, Labels: map[string]string{"team": "a"}})
	if created.Status != database.StatusCreating || len(created.Password) != 32 || created.Replayed {
		t.Errorf("create answered status %s, a password of %d characters, replayed %t", created.Status, len(created.Password), created.Replayed)
	}
	online := c.awaitOnline(t, "orders")
	want := &database.Instance{
		ID: created.ID, Name: "orders", FancinessLevel: 20, Status: database.StatusOnline, Hostname: "127.0.0.1",
		Username: "postgres", Labels: map[string]string{"team": "a"}, CreatedAt: created.CreatedAt,
		Port: online.Port, Version: online.Version,
	}
	if diff := cmp.Diff(want, online); diff != "" {
		t.Errorf("online instance, -want +got:\n%s", diff)
	}
	if v := query(t, online, created.Password, "show server_version"); !strings.HasPrefix(v, online.Version+".") {
		t.Errorf("server has version %s, the API says %s", v, online.Version)
	}
	if conn, err := pgx.Connect(t.Context(), online.URL("wrong")); err == nil {
		t.Errorf("a wrong password opened the database: %v", conn.Close(t.Context()))
	}

	level := 33
	updated, err := c.databases.UpdateInstance(t.Context(), "orders", database.UpdateInstanceInput{FancinessLevel: &level})
	if err != nil {
		t.Fatal(err)
	}
	if updated.Status != database.StatusUpdating {
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
	if err := c.databases.DeleteInstance(t.Context(), created.Name); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(t, created.Name)
	if left := serversIn(t, c.dir); len(left) > 0 {
		t.Errorf("servers run after the delete: %v", left)
	}
	folders, err := os.ReadDir(filepath.Join(c.dir, "instances"))
	if err != nil || len(folders) > 0 {
		t.Errorf("after the delete the folder holds %v, error %v", folders, err)
	}
	if err := c.databases.DeleteInstance(t.Context(), created.Name); !sdk.IsNotFound(err) {
		t.Errorf("deleting what is gone: %v", err)
	}
	again := c.create(t, database.CreateInstanceInput{Name: created.Name, FancinessLevel: 20})
	if again.ID <= created.ID {
		t.Errorf("id %d was given after id %d", again.ID, created.ID)
	}
}

func TestServerThatDiesIsRestarted(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t), RetryInterval: 2 * time.Second})
	created := c.create(t, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	online := c.awaitOnline(t, "orders")
	execute(t, online, created.Password, "create table kept as select 'still there' as value")
	killServer(t, c, created)
	killServer(t, c, created)
	if got := c.awaitOnline(t, "orders"); got.Port != online.Port {
		t.Errorf("port changed from %d to %d", online.Port, got.Port)
	}
	if got := query(t, online, created.Password, "select value from kept"); got != "still there" {
		t.Errorf("the table holds %q", got)
	}
}

func TestUpdateDuringUpdate(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	created := c.create(t, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	c.awaitOnline(t, "orders")
	before := serversIn(t, c.dir)
	for _, level := range []int{30, 40} {
		if _, err := c.databases.UpdateInstance(t.Context(), "orders", database.UpdateInstanceInput{FancinessLevel: &level}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the first update to be under way", func() string {
			if after := serversIn(t, c.dir); slices.Equal(before, after) {
				return fmt.Sprint(after)
			}
			return ""
		})
	}
	online := c.awaitOnline(t, "orders") // Never for the first level, which is not wanted any more.
	if got := query(t, online, created.Password, "show max_connections"); got != "40" || online.FancinessLevel != 40 {
		t.Errorf("online with level %d and max_connections %s", online.FancinessLevel, got)
	}
}

func TestReasonOfAFailureIsShown(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t), RetryInterval: 500 * time.Millisecond})
	created := c.create(t, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
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
	eventually(t, "the reason to be shown", func() string {
		i, err := c.databases.GetInstance(t.Context(), "orders")
		if err == nil && i.Status == database.StatusFailed && strings.Contains(i.Message, "contains errors") {
			return ""
		}
		return "not"
	})
	shown := map[string]bool{}
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for range 60 { // Several attempts long.
		i, err := c.databases.GetInstance(t.Context(), "orders")
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

func TestStopAndStart(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c := startCloud(t, favouritecloud.Config{DataDir: dir})
	created := c.create(t, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	online := c.awaitOnline(t, "orders")
	execute(t, online, created.Password, "create table kept as select 'still there' as value")
	c.stop()
	if left := serversIn(t, dir); len(left) > 0 {
		t.Errorf("servers outlive the cloud: %v", left)
	}
	if _, err := favouritecloud.ReadEndpoint(dir); !os.IsNotExist(errorCause(err)) {
		t.Errorf("a stopped cloud still has an endpoint: %v", err)
	}

	c = startCloud(t, favouritecloud.Config{DataDir: dir})
	if got := c.awaitOnline(t, "orders"); got.Port != online.Port || got.ID != online.ID {
		t.Errorf("came back as id %d port %d, was id %d port %d", got.ID, got.Port, online.ID, online.Port)
	}
	if got := query(t, online, created.Password, "select value from kept"); got != "still there" {
		t.Errorf("the table holds %q", got)
	}
}

func TestMissingPostgreSQLHealsWithoutRestart(t *testing.T) {
	t.Parallel()
	dir, programs := newDataDir(t), t.TempDir()
	c := startCloud(t, favouritecloud.Config{
		DataDir: dir, PostgresSearchPath: []string{programs}, RetryInterval: 200 * time.Millisecond,
	})
	version := "15"
	created := c.create(t, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	c.create(t, database.CreateInstanceInput{Name: "versioned", FancinessLevel: 20, Version: &version})
	for name, command := range map[string]string{"orders": "apt-get install postgresql)", "versioned": "apt-get install postgresql-15)"} {
		eventually(t, name+" to say what is missing", func() string {
			i, err := c.databases.GetInstance(t.Context(), name)
			if err == nil && i.Status == database.StatusFailed && strings.Contains(i.Message, command) {
				return ""
			}
			return "not"
		})
	}
	if err := c.databases.DeleteInstance(t.Context(), "versioned"); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(t, "versioned")

	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(installed) == 0 {
		t.Fatalf("no /usr/lib/postgresql/*/bin (%v): apt-get install postgresql", err)
	}
	for _, program := range []string{"initdb", "postgres"} {
		if err := os.Symlink(filepath.Join(installed[len(installed)-1], program), filepath.Join(programs, program)); err != nil {
			t.Fatal(err)
		}
	}
	query(t, c.awaitOnline(t, "orders"), created.Password, "select 'installed'")

	other := "9"
	_, err = c.databases.CreateInstance(t.Context(), database.CreateInstanceInput{Name: "old", FancinessLevel: 20, Version: &other})
	if !sdk.IsInvalid(err) || !strings.Contains(err.Error(), "this cloud has PostgreSQL") {
		t.Errorf("asking for a version that is not installed: %v", err)
	}
}
