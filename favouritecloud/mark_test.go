// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const (
	foreign  = "is the data of another server, or a new one, and is not used"
	markFile = "favouritecloud-instance"
)

// No server is started on the data of another, whose clients would share it, or on a new one, and neither is changed.
func TestDataOfAnotherServerIsRefused(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		c := startCloud(t, favouritecloud.Config{RetryInterval: 100 * time.Millisecond})
		password := c.create(t, e, "orders")
		online := c.awaitOnline(t, e, "orders")
		e.ask(t, online, password, e.write)
		server, own, away := serversIn(t, c.dir)[0], filepath.Join(c.folder(e, online.ID), "data"), filepath.Join(c.dir, "away")
		c.create(t, e, "other")
		other := filepath.Join(c.folder(e, c.awaitOnline(t, e, "other").ID), "data")
		if err := errors.Join(os.Rename(own, away), syscall.Kill(server, syscall.SIGKILL)); err != nil {
			t.Fatal(err)
		}
		for name, unlike := range map[string]func(copied string) error{
			"of another": func(string) error { return nil },
			"new":        func(copied string) error { return os.RemoveAll(filepath.Join(copied, markFile)) },
		} {
			c.await(t, e, "orders", sdk.StatusFailed, "the data is gone")
			copied := filepath.Join(c.dir, "copied")
			_ = exec.Command("cp", "-a", other, copied).Run() // a file of the running server may vanish
			_ = os.Remove(filepath.Join(copied, "postmaster.pid"))
			if err := unlike(copied); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(copied, own); err != nil {
				t.Fatal(err)
			}
			before := filesIn(t, own)
			c.await(t, e, "orders", sdk.StatusFailed, foreign)
			if diff := cmp.Diff(before, filesIn(t, own)); diff != "" || len(serversIn(t, c.dir)) != 1 {
				t.Errorf("%s: servers %v, files -before +after:\n%s", name, serversIn(t, c.dir), diff)
			}
			if err := os.RemoveAll(own); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(away, own); err != nil {
			t.Fatal(err)
		}
		expectKept(t, c, e, online, password)
	})
}

// Data of an earlier version is marked once, also if the cloud is killed before it has recorded that.
func TestDataOfAnEarlierVersionIsTakenOver(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		c := startCloud(t, favouritecloud.Config{})
		password := c.create(t, e, "orders")
		online := c.awaitOnline(t, e, "orders")
		e.ask(t, online, password, e.write)
		mark := filepath.Join(c.folder(e, online.ID), "data", markFile)
		restart := func(when string, change func() error) string {
			t.Helper()
			c.stop()
			if err := errors.Join(editRecord(c.dir, e, func(r object) { delete(r, "Mark") }), change()); err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			c = startCloud(t, favouritecloud.Config{DataDir: c.dir})
			expectKept(t, c, e, online, password)
			content, err := os.ReadFile(mark)
			name, random, _ := strings.Cut(strings.TrimSpace(string(content)), " ")
			if err != nil || name != filepath.Base(c.folder(e, online.ID)) || len(random) < 26 {
				t.Errorf("%s: mark %q, error %v", when, content, err)
			}
			return random
		}
		first := restart("no mark", func() error { return os.Remove(mark) })
		if again := restart("not recorded", func() error { return nil }); again != first {
			t.Errorf("mark %s became %s", first, again)
		}
		c.stop()
		err := editRecord(c.dir, e, func(r object) {
			if r["Mark"] != first {
				t.Errorf("mark %v is recorded, want %s", r["Mark"], first)
			}
			delete(r, "Mark")
		})
		if err := errors.Join(err, os.WriteFile(mark, []byte(e.service+"-77 X\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		c = startCloud(t, favouritecloud.Config{DataDir: c.dir})
		c.await(t, e, "orders", sdk.StatusFailed, foreign)
	})
}

// editRecord changes the records of a stopped cloud.
func editRecord(dir string, e engine, edit func(r object)) error {
	db, err := bbolt.Open(filepath.Join(dir, "state.db"), 0o600, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bbolt.Tx) error {
		table := tx.Bucket([]byte(e.service + " instance"))
		records := map[string][]byte{}
		err := table.ForEach(func(key, content []byte) error {
			r := object{}
			err := json.Unmarshal(content, &r)
			edit(r)
			records[string(key)], _ = json.Marshal(r)
			return err
		})
		for key, content := range records {
			err = errors.Join(err, table.Put([]byte(key), content))
		}
		return err
	}), db.Close())
}
