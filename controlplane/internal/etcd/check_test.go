// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// start starts a store, writes a key, and stops it. It returns how many keys it had.
func start(t *testing.T, dataDir string) (int64, error) {
	t.Helper()
	s, err := Start(t.Context(), dataDir, true, logr.Discard())
	if err != nil {
		return 0, err
	}
	must(t, s.WaitReady(t.Context()))
	put := &etcdserverpb.PutRequest{Key: []byte(registry + "object"), Value: []byte("{}")}
	found, err := s.Etcd.Server.Range(t.Context(), &etcdserverpb.RangeRequest{Key: put.Key})
	must(t, err)
	_, err = s.Etcd.Server.Put(t.Context(), put)
	must(t, errors.Join(err, s.Stop()))
	return found.Count, nil
}

func TestMissingStoreIsReported(t *testing.T) {
	member, log := filepath.Join("etcd", "member"), filepath.Join("etcd", "member", "wal")
	database, mark := filepath.Join(member, "snap", "db"), filepath.Base(markPath(""))
	noEntries := func(t *testing.T, dir string) { // as etcd creates it
		must(t, os.RemoveAll(filepath.Join(dir, log)))
		w, err := wal.Create(zap.NewNop(), filepath.Join(dir, log), nil)
		must(t, err)
		must(t, w.Close())
	}
	cases := map[string]struct {
		remove  []string // of a store that was in use
		then    func(t *testing.T, dir string)
		damaged string // file or folder that is reported
		found   int64  // keys that are kept
	}{
		"complete":                            {found: 1},
		"of an earlier version":               {remove: []string{mark}, found: 1},
		"without a folder":                    {remove: []string{"etcd"}, damaged: database},
		"without a database":                  {remove: []string{database}, damaged: database},
		"without a database, earlier version": {remove: []string{database, mark}, damaged: database},
		"without a log":                       {remove: []string{log}, damaged: log},
		"without a log, earlier version":      {remove: []string{log, mark}, damaged: log},
		"with another log":                    {then: noEntries, damaged: log},
		"never started":                       {remove: []string{"etcd", mark}},
		"killed before the database is initialized": {remove: []string{"etcd", mark}, then: func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, member, "snap"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, database), nil, 0o600))
		}},
		"killed while the database is initialized": {remove: []string{"etcd", mark}, then: func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, member, "snap"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, database), make([]byte, os.Getpagesize()), 0o600))
		}},
		"killed before the first entry": {remove: []string{"etcd", mark}, then: noEntries},
	}
	original := t.TempDir()
	_, err := start(t, original)
	must(t, err)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.CopyFS(dir, os.DirFS(original)))
			for _, path := range tc.remove {
				must(t, os.RemoveAll(filepath.Join(dir, path)))
			}
			if tc.then != nil {
				tc.then(t, dir)
			}
			found, err := start(t, dir)
			damaged := ""
			if e, ok := errors.AsType[*DamagedError](err); ok {
				damaged, _ = filepath.Rel(dir, e.Path)
			} else if err != nil {
				t.Error(err)
			}
			if found != tc.found || damaged != tc.damaged {
				t.Errorf("%d keys, %q is damaged, want %d and %q: %v", found, damaged, tc.found, tc.damaged, err)
			}
			if err == nil {
				_, err := os.Stat(markPath(dir))
				must(t, err)
			}
		})
	}
}

// The folder is created before the keys, so keys without a folder are of a store that was lost.
func TestMissingFolderIsReported(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	must(t, EnsureFolder(dir, keys))
	must(t, os.WriteFile(keys, nil, 0o600)) // and the first start is killed
	must(t, EnsureFolder(dir, keys))
	must(t, os.Remove(filepath.Join(dir, "etcd")))
	if _, ok := errors.AsType[*DamagedError](EnsureFolder(dir, keys)); !ok {
		t.Error("the folder was lost, and this is not reported")
	}
}

func TestHealth(t *testing.T) {
	s, err := Start(t.Context(), t.TempDir(), true, logr.Discard())
	must(t, err)
	must(t, s.WaitReady(t.Context()))
	must(t, s.CheckHealth(t.Context()))
	must(t, s.Stop())
	if err := s.CheckHealth(t.Context()); err == nil {
		t.Error("a store that was stopped is healthy")
	}
}

func TestSlowDiskIsNotDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		s := &Store{Etcd: &embed.Etcd{Server: &etcdserver.EtcdServer{}}, log: funcr.New(func(_, args string) {
			logged.WriteString(args + "\n")
		}, funcr.Options{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a store without a leader: %v", err)
		}
		if !strings.Contains(logged.String(), "waiting for the disk") {
			t.Errorf("logged:\n%s", logged.String())
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
