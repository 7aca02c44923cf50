// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a killed backup left is removed, but nothing of a backup that runs, and nothing else.
func TestKilledBackupIsRemoved(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	path := filepath.Join(parent, "daily.tar.gz")
	killed, remove, err := newFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	remove()
	running, remove, err := newFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	others := []string{filepath.Join(parent, ".daily.tar.gz.notes"), filepath.Join(parent, ".other.tar.gz"+unfinished+"1"), running}
	for _, folder := range append(others[:2:2], killed) {
		if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "archive"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	next, removeNext, err := newFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	want := append(others, next)
	slices.Sort(want)
	if got, err := filepath.Glob(filepath.Join(parent, ".*")); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v, -want +got:\n%s", err, cmp.Diff(want, got))
	}
	remove()
	removeNext()
	if left, err := filepath.Glob(filepath.Join(parent, ".daily*"+unfinished+"*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestBackupReplacesOnlyFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(folder, link)); err != nil {
		t.Fatal(err)
	}
	for path, permitted := range map[string]bool{file: true, filepath.Join(folder, "new"): true, folder: false, link: false, os.DevNull: false} {
		_, remove, err := newFolder(path)
		if err == nil {
			remove()
		}
		if (err == nil) != permitted {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestBackupLeavesSpace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		data      string // the folder of the control plane
		free      uint64
		bytes     int
		permitted bool
	}{
		"enough":                {os.TempDir(), spaceReserve, spaceStep, true},
		"not enough":            {os.TempDir(), spaceReserve - 1, spaceStep, false},
		"before the first step": {os.TempDir(), 0, spaceStep - 1, true},
		"on a disk of its own":  {"/proc", spaceReserve - 1, spaceStep, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := os.Create(filepath.Join(t.TempDir(), "archive"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			archive := &target{File: file, reserve: reserveIn(filepath.Dir(file.Name()), tc.data), free: func() (uint64, error) { return tc.free, nil }}
			for written, part := 0, make([]byte, 1<<20); written < tc.bytes && err == nil; written += len(part) {
				_, err = archive.Write(part[:min(len(part), tc.bytes-written)])
			}
			if (err == nil) != tc.permitted || err != nil && !strings.Contains(err.Error(), "511 MB of free space") {
				t.Errorf("error %v", err)
			}
		})
	}
}
