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

// A backup replaces only backups, and neither it nor a restored folder is in a data folder, with which it would be lost.
func TestBackupTarget(t *testing.T) {
	t.Parallel()
	parent, backup := t.TempDir(), newArchive(t, format, "pki/ca.crt")
	in := func(path ...string) string { return filepath.Join(append([]string{parent}, path...)...) }
	for file, content := range map[string]string{
		in("started", "identity"): `{"id":"1"}`, in("restoring", "restore-unfinished"): "", in("restored", "etcd", "member", "snap", "db"): "",
		in("restored", "pki", "ca.crt"): "", in("lib", "etcd", "member", "snap", "db"): "",
		in("only-cloud", "cloud", "admin.token"): "t", in("others", "identity"): "of a person", in("empty"): "", in("text"): "keys",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.MkdirAll(in("started", "pki", "new"), 0o700), os.Symlink(in("started", "pki"), in("link")), os.Symlink(backup, in("linked")),
		os.Symlink(in("started"), in("alias")))
	if err != nil {
		t.Fatal(err)
	}
	const inside, none = "would be lost with it", ""
	for _, tc := range []struct{ path, backup, restore string }{
		{in("new"), none, none}, {in("started", "..", "new"), none, none}, {in("others", "f"), none, none}, {in("lib", "f"), none, none}, {in("empty"), none, none},
		{backup, none, none}, {in("linked"), none, none}, {in("text"), "is not a backup", none}, {in("others"), "not a regular file", none},
		{os.DevNull, "not a regular file", none}, {in("started"), "not a regular file", none}, {in("alias"), "not a regular file", none},
		{in("started", "identity"), inside, inside}, {in("started", "pki", "missing", "f"), inside, inside}, {in("link", "f"), inside, inside},
		{in("link"), "not a regular file", inside}, {in("alias", "pki", "new"), inside, inside}, {in("restoring", "f"), inside, inside},
		{in("restored", "f"), inside, inside}, {in("only-cloud", "f"), inside, inside},
	} {
		if err := checkTarget(t.Context(), tc.path, true); (tc.path == backup || tc.path == in("linked")) && (err == nil || !strings.Contains(err.Error(), "leaves out data")) {
			t.Errorf("%s with --skip: error %v", tc.path, err)
		}
		for want, got := range map[string]error{"backup: " + tc.backup: checkTarget(t.Context(), tc.path, false), "restore: " + tc.restore: refuseInside(tc.path)} {
			_, want, _ := strings.Cut(want, ": ")
			if (got == nil) != (want == none) || got != nil && !strings.Contains(got.Error(), want) {
				t.Errorf("%s: error %v, want %q", tc.path, got, want)
			}
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
