// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// A backup is made and restored while the original runs, and both run afterwards: with data of their own, on ports of their own.
func TestBackupIsRestoredBesideTheOriginal(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		c := startCloud(t, favouritecloud.Config{})
		password := c.create(t, e, "orders")
		original := c.awaitOnline(t, e, "orders")
		e.ask(t, original, password, e.write)
		server := serversIn(t, c.dir)[0]
		if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer syscall.Kill(server, syscall.SIGCONT)
		backup, err := sdk.StartBackup(t.Context(), c.url, c.adminToken(t))
		if err != nil {
			t.Fatal(err)
		}
		defer backup.Close()
		var waited string
		backup.Waits = func(cause string) {
			waited = cause
			if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		}
		dir := newDataDir(t)
		done, err := favouritecloud.Restore(favouritecloud.Config{DataDir: dir}, backup, false)
		if err != nil {
			t.Fatal(err)
		}
		if want := e.service + "/demo/orders: "; !strings.HasPrefix(waited, want) {
			t.Errorf("the backup says %q while the server hangs, want %q", waited, want)
		}
		if to := done.Ports[original.Port]; to == 0 || to == original.Port {
			t.Errorf("port %d became %d", original.Port, to)
		}
		restored := startCloud(t, favouritecloud.Config{DataDir: dir})
		at := restored.awaitOnline(t, e, "orders")
		if at.Port != done.Ports[original.Port] {
			t.Errorf("the restored server has port %d, want %d", at.Port, done.Ports[original.Port])
		}
		if got := e.ask(t, at, password, e.read); got != "kept" {
			t.Errorf("the restored server has %q", got)
		}
		if id, of := restored.client.Cloud(), c.client.Cloud(); of == "" || !strings.HasSuffix(id, "/"+of) {
			t.Errorf("the restored cloud has the id %q, the original %q", id, of)
		}
		restored.delete(t, e, "orders")
		if got := e.ask(t, original, password, e.read); got != "kept" {
			t.Errorf("after the deletion of its copy the original has %q", got)
		}
		if left, err := filepath.Glob(filepath.Join(c.folder(e, original.ID), "backup*")); err != nil || len(left) > 0 {
			t.Errorf("the copy left %v, %v", left, err)
		}
	})
}

// Two backups at once would dump the same server into each other's copy.
func TestOneBackupAtATime(t *testing.T) {
	t.Parallel()
	c, e := startCloud(t, favouritecloud.Config{}), databases()
	c.create(t, e, "orders")
	id := c.awaitOnline(t, e, "orders").ID
	first, err := sdk.StartBackup(t.Context(), c.url, c.adminToken(t)) // larger than the buffers of a connection, so it waits for a reader
	if err != nil {
		t.Fatal(err)
	}
	if a := c.request(t, "POST", "/v1/backup", c.adminToken(t), ""); a.status != 409 || !strings.Contains(a.text, "another backup") {
		t.Errorf("a second backup: %d %s", a.status, a.text)
	}
	copies := func() []string {
		found, err := filepath.Glob(filepath.Join(c.folder(e, id), "backup-*"))
		if err != nil {
			t.Error(err)
		}
		return found
	}
	eventually(t, "a copy", func() string {
		if len(copies()) == 0 {
			return "none"
		}
		return ""
	})
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "a further backup", func() string {
		if again, err := sdk.StartBackup(t.Context(), c.url, c.adminToken(t)); err != nil {
			return err.Error()
		} else if err := again.Close(); err != nil {
			return err.Error()
		}
		return ""
	})
	c.stop()
	left := filepath.Join(c.folder(e, id), "backup-of-a-killed-cloud")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	startCloud(t, favouritecloud.Config{DataDir: c.dir})
	if found := copies(); len(found) > 0 {
		t.Errorf("a start leaves the copies %v", found)
	}
}

func TestBackupRequiresTheAdminToken(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	if a := c.request(t, "POST", "/v1/backup", c.apiKey, ""); a.status != 403 {
		t.Errorf("with the key of a project: %d %s", a.status, a.text)
	}
	backup, err := sdk.StartBackup(t.Context(), c.url, c.adminToken(t))
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Close()
	if _, err := favouritecloud.Restore(favouritecloud.Config{DataDir: newDataDir(t)}, backup, true); err != nil {
		t.Errorf("restoring a cloud without instances: %v", err)
	}
}

// A misspelled name would be recorded as left out, while the backup fails for, or has, the one that was meant.
func TestBackupRefusesUnknownNamesToSkip(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	backup, err := sdk.StartBackup(t.Context(), c.url, c.adminToken(t), "database/demo/misspelled")
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Close()
	const want = `there is no instance "database/demo/misspelled" to skip: correct or remove --skip`
	if _, err := backup.Next(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// A server that cannot be copied need not prevent every backup. It is not restored as an empty one.
func TestSkippedInstanceIsNotRestored(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		config := favouritecloud.Config{RetryInterval: time.Second}
		e.hide(&config, t.TempDir())
		c := startCloud(t, config)
		c.create(t, e, "broken")
		c.await(t, e, "broken", sdk.StatusFailed, "")
		backup, err := sdk.StartBackup(t.Context(), c.url, c.adminToken(t), e.service+"/"+project+"/broken")
		if err != nil {
			t.Fatal(err)
		}
		defer backup.Close()
		config.DataDir = newDataDir(t)
		if _, err := favouritecloud.Restore(config, backup, false); err != nil {
			t.Fatal(err)
		}
		restored := startCloud(t, config)
		if _, err := restored.instances(e).Get(t.Context(), "broken"); !sdk.IsNotFound(err) {
			t.Errorf("the instance without data: %v", err)
		}
	})
}

// A second cloud does not use the servers of the first one, whether that runs or not.
func TestServersBelongToOneCloud(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	base := filepath.Dir(dir)
	shared := filepath.Join(base, "shared")
	c, e := startCloud(t, favouritecloud.Config{DataDir: dir, InstanceDir: shared}), databases()
	password := c.create(t, e, "orders")
	c.awaitOnline(t, e, "orders")

	refused := func(when, want string, config favouritecloud.Config) {
		t.Helper()
		config.Listen = "127.0.0.1:0"
		server, err := favouritecloud.New(config)
		if err == nil {
			err = server.Run(context.WithoutCancel(t.Context()))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", when, err)
		}
		if online := c.awaitOnline(t, e, "orders"); !e.opens(t, online, password) {
			t.Errorf("%s: the server of the first cloud is down", when)
		}
	}
	copied, other := filepath.Join(base, "copy"), favouritecloud.Config{DataDir: filepath.Join(base, "other"), InstanceDir: shared}
	copyCloud(t, dir, copied)
	refused("a copy beside the original", "in use by another cloud", favouritecloud.Config{DataDir: copied})
	refused("another cloud beside the original", "in use by another cloud", other)
	c.stop()
	if err := leaveEnd(filepath.Join(shared, "owner"), `elsewhere"}`); err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]favouritecloud.Config{
		"is a copy of " + dir: {DataDir: copied}, "if its instances is a link, that leads to the data of the servers of both": {DataDir: copied}, "of which this cloud has no records": other,
	} {
		server, err := favouritecloud.New(config)
		if err == nil {
			err = server.Run(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("while the original is down: %v, want %q", err, want)
		}
	}
	moved := filepath.Join(base, "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	c = startCloud(t, favouritecloud.Config{DataDir: moved})
	if online := c.awaitOnline(t, e, "orders"); !e.opens(t, online, password) {
		t.Error("a moved cloud has lost its server")
	}
}

// Root keeps the servers of a data folder that they cannot reach elsewhere, by the path of the data folder. A restore into a path from
// which a cloud was moved finds them there, is refused, and leaves them.
func TestFailedRestoreKeepsTheServersOfAMovedCloud(t *testing.T) {
	t.Parallel()
	private := filepath.Join(t.TempDir(), "private")
	dir, moved := filepath.Join(private, "cloud"), filepath.Join(private, "moved")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	c, e := startCloud(t, favouritecloud.Config{DataDir: dir}), databases()
	password := c.create(t, e, "orders")
	e.ask(t, c.awaitOnline(t, e, "orders"), password, e.write)
	c.stop()
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	other := startPaperCloud(t)
	refuse := func(when, want string) {
		t.Helper()
		backup, err := sdk.StartBackup(t.Context(), other.url, other.adminToken(t))
		if err != nil {
			t.Fatal(err)
		}
		defer backup.Close()
		_, err = favouritecloud.Restore(favouritecloud.Config{DataDir: dir}, backup, false)
		if os.Geteuid() == 0 && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", when, err, want)
		}
		if err := favouritecloud.Remove(dir); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	refuse("the moved cloud is down", "choose another data folder for this cloud, or delete /var/lib/favouritecloud-")
	c = startCloud(t, favouritecloud.Config{DataDir: moved})
	online := c.awaitOnline(t, e, "orders")
	refuse("the moved cloud runs", "in use by another cloud")
	if got := e.ask(t, online, password, e.read); got != "kept" {
		t.Errorf("the moved cloud has %q", got)
	}
	c.delete(t, e, "orders")
}

// A removed cloud has no servers elsewhere.
func TestRemoveDeletesItsServers(t *testing.T) {
	t.Parallel()
	base := filepath.Dir(newDataDir(t))
	config := favouritecloud.Config{DataDir: filepath.Join(base, "cloud"), InstanceDir: filepath.Join(base, "instances")}
	c, e := startCloud(t, config), databases()
	c.create(t, e, "orders")
	c.awaitOnline(t, e, "orders")
	c.stop()
	if err := favouritecloud.Remove(config.DataDir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// leaveEnd adds what is left of a longer content when a cloud is killed while it replaces that.
func leaveEnd(path, text string) error {
	content, err := os.ReadFile(path)
	return errors.Join(err, os.WriteFile(path, append(content, text...), 0o600))
}

// copyCloud copies the files of a data folder as cp -a does.
func copyCloud(t *testing.T, from, to string) {
	t.Helper()
	link, err := os.Readlink(filepath.Join(from, "instances"))
	if err == nil {
		err = os.Mkdir(to, 0o711)
	}
	if err == nil {
		err = os.Symlink(link, filepath.Join(to, "instances"))
	}
	content, readErr := os.ReadFile(filepath.Join(from, "state.db"))
	if err := errors.Join(err, readErr, os.WriteFile(filepath.Join(to, "state.db"), content, 0o600)); err != nil {
		t.Fatal(err)
	}
}
