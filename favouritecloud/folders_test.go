// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

func TestUnreachableDataFolder(t *testing.T) {
	t.Parallel()
	private := filepath.Join(t.TempDir(), "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	c, e := startCloud(t, favouritecloud.Config{DataDir: filepath.Join(private, "cloud")}), databases()
	password := c.create(t, e, "orders")
	e.ask(t, c.awaitOnline(t, e, "orders"), password, "select 'reached'")
	real, err := filepath.EvalSymlinks(filepath.Join(c.dir, "instances"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 && !strings.HasPrefix(real, "/var/lib/favouritecloud-") {
		t.Errorf("instances are in %s, where PostgreSQL's account cannot reach them", real)
	}
	c.stop()
	c = startCloud(t, favouritecloud.Config{DataDir: c.dir})
	e.ask(t, c.awaitOnline(t, e, "orders"), password, "select 'the choice was kept'")
	c.delete(t, e, "orders")
	c.stop()
	if _, err := os.Stat(real); os.Geteuid() == 0 && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder is left outside of the data folder: %v", err)
	}
}

// Whatever of its data a server has lost, it is not started without it.
func TestLostDataIsNotReplaced(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		c := startCloud(t, favouritecloud.Config{RetryInterval: 100 * time.Millisecond})
		password := c.create(t, e, "orders")
		online := c.awaitOnline(t, e, "orders")
		e.ask(t, online, password, e.write)
		folder := c.folder(e, online.ID)
		for _, part := range append(e.parts, "", "data") {
			lost, away := filepath.Join(folder, part), filepath.Join(c.dir, "away")
			if err := errors.Join(os.Rename(lost, away), syscall.Kill(serversIn(t, c.dir)[0], syscall.SIGKILL)); err != nil {
				t.Fatal(err)
			}
			c.await(t, e, "orders", sdk.StatusFailed, "is missing: the data is gone")
			if err := os.Rename(away, lost); err != nil {
				t.Fatal(err)
			}
			if got := e.ask(t, c.awaitOnline(t, e, "orders"), password, e.read); got != "kept" {
				t.Errorf("with %q again, the server has %q", part, got)
			}
		}
	})
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	for name, others := range map[string]os.FileMode{"admin.token": 0o077, "state.db": 0o077, "endpoint": 0o077, ".": 0o066} {
		info, err := os.Stat(filepath.Join(c.dir, name))
		if err != nil || info.Mode().Perm()&others != 0 {
			t.Errorf("%s has mode %v, error %v", name, info.Mode(), err)
		}
	}
}

func TestStartRefusals(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	address, pid := strings.TrimPrefix(c.url, "http://"), fmt.Sprintf("pid %d", os.Getpid())
	old := newDataDir(t)
	writeOldState(t, old)
	cases := map[string]struct {
		config favouritecloud.Config
		want   []string // of the error of New or Run
	}{
		"another layout":     {favouritecloud.Config{DataDir: old, Listen: "127.0.0.1:0"}, []string{old, "another version of the cloud"}},
		"port taken":         {favouritecloud.Config{DataDir: newDataDir(t), Listen: address}, []string{address, "already in use"}},
		"data folder in use": {favouritecloud.Config{DataDir: c.dir}, []string{c.dir, "in use by another cloud", pid}},
		"no data folder":     {favouritecloud.Config{}, []string{"data folder is required"}},
		"bad address":        {favouritecloud.Config{DataDir: "x", Listen: "7070"}, []string{`"7070" is not host:port`}},
		"negative retry":     {favouritecloud.Config{DataDir: "x", RetryInterval: -1}, []string{"is negative"}},
		"every problem":      {favouritecloud.Config{Listen: "7070"}, []string{"data folder is required\nlisten address"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server, err := favouritecloud.New(tc.config)
			if err == nil {
				err = server.Run(t.Context())
			}
			for _, part := range tc.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v lacks %q", err, part)
				}
			}
		})
	}
}

// writeOldState writes a state file with records and without a format.
func writeOldState(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(filepath.Join(dir, "state.db"), 0o600, nil)
	if err == nil {
		err = errors.Join(db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("projects"))
			return err
		}), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestChosenPortIsKept(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	first := startCloud(t, favouritecloud.Config{DataDir: dir})
	first.stop()
	for name, listen := range map[string]string{"the same": "127.0.0.1:0", "no address": ""} {
		again, err := favouritecloud.New(favouritecloud.Config{DataDir: dir, Listen: listen})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() { <-again.Ready(); stop() }()
		if err := again.Run(ctx); err != nil || again.URL() != first.url {
			t.Errorf("after a restart with %s the cloud is at %s instead of %s: %v", name, again.URL(), first.url, err)
		}
	}
	other, err := net.Listen("tcp", strings.TrimPrefix(first.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if third := startCloud(t, favouritecloud.Config{DataDir: dir}); third.url == first.url {
		t.Errorf("the cloud is at %s, the address of another program", third.url)
	}
}

func TestInstanceFolderIsKept(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	apart := filepath.Join(filepath.Dir(dir), "apart")
	startCloud(t, favouritecloud.Config{DataDir: dir, InstanceDir: apart}).stop()
	for _, same := range []string{apart, ""} {
		startCloud(t, favouritecloud.Config{DataDir: dir, InstanceDir: same}).stop()
	}
	server, err := favouritecloud.New(favouritecloud.Config{DataDir: dir, InstanceDir: apart + "2", Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Run(context.Background()); err == nil || !strings.Contains(err.Error(), apart+"2 cannot be used") {
		t.Errorf("another folder: %v", err)
	}
}
