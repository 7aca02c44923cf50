// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// newArchive writes an archive of two files. Their content does not compress, so a change of the archive changes them.
func newArchive(t *testing.T, format int, names ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.tar.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWriter(t.Context(), &target{File: file})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := w.add(&tar.Header{Name: name, Mode: 0o600, Size: 5}, strings.NewReader("hello")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.finish(Manifest{Format: format}); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDamagedArchiveIsNotRestored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format int
		damage func([]byte) []byte
		want   string
	}{
		"another format": {format + 1, func(b []byte) []byte { return b }, "another version"},
		"truncated":      {format, func(b []byte) []byte { return b[:len(b)-20] }, "is damaged"},
		"not complete":   {format, func(b []byte) []byte { return b[:60] }, "is damaged"},
		"changed":        {format, func(b []byte) []byte { return bytes.Replace(b, b[40:44], []byte{1, 2, 3, 4}, 1) }, "is damaged"},
		"another file":   {format, func([]byte) []byte { return []byte("hello") }, "is not a backup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := newArchive(t, tc.format, "pki/ca.crt", snapshotName)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, tc.damage(content), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "data")
			if _, _, err := Restore(t.Context(), path, dir); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the data folder was created")
			}
		})
	}
}

// A restore that fails or is interrupted leaves nothing, and can be repeated.
func TestFailedRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ctx   context.Context
		files []string
	}{
		"interrupted":   {nil, []string{"pki/ca.crt", "cloud/admin.token"}},
		"not a store":   {t.Context(), []string{"pki/ca.crt", snapshotName, survivorsName}},
		"no store":      {t.Context(), []string{"pki/ca.crt"}},
		"outside":       {t.Context(), []string{"../outside"}},
		"outside cloud": {t.Context(), []string{"cloud/instances/database-1/data/../../../../outside"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			for range 2 {
				path, ctx := newArchive(t, format, tc.files...), tc.ctx
				if ctx == nil {
					ctx = interruptAfterVerify(t, path)
				}
				if _, _, err := Restore(ctx, path, dir); err == nil {
					t.Error("the restore succeeded")
				}
			}
			if err := os.Remove(filepath.Join(dir, "lock")); err != nil { // it stays: another process may wait for it
				t.Error(err)
			}
			for _, folder := range []string{dir, filepath.Dir(dir)} {
				if left, err := os.ReadDir(folder); err != nil || len(left) > 0 && folder == dir || len(left) > 1 {
					t.Errorf("%s has %v, %v", folder, left, err)
				}
			}
		})
	}
}

// A countdown is a context that ends when it was asked left times.
type countdown struct {
	context.Context
	left atomic.Int32
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func newCountdown(t *testing.T, left int32) *countdown {
	c := &countdown{Context: t.Context()}
	c.left.Store(left)
	return c
}

// interruptAfterVerify returns a context for one Restore.
func interruptAfterVerify(t *testing.T, path string) context.Context {
	t.Helper()
	const many = 1 << 20
	c := newCountdown(t, many)
	if _, err := Verify(c, path); err != nil {
		t.Fatal(err)
	}
	return newCountdown(t, many-c.left.Load())
}

// A signal is reported as such, and beside it what could not be undone.
func TestInterruptedRestoreIsReported(t *testing.T) {
	t.Parallel()
	path := newArchive(t, format, "pki/ca.crt")
	for name, tc := range map[string]struct {
		ctx  context.Context
		want string
	}{
		"while the archive is verified": {newCountdown(t, 0), "interrupted; nothing is left"},
		"while the folder is cleaned":   {interruptAfterVerify(t, path), "has parts of an unfinished restore"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cloud := filepath.Join(dir, "cloud") // without its records, whose folder cannot be cleaned
			err := errors.Join(os.Mkdir(cloud, 0o700), os.Symlink(t.TempDir(), filepath.Join(cloud, "instances")),
				os.WriteFile(filepath.Join(cloud, "admin.token"), nil, 0o600), os.WriteFile(filepath.Join(dir, "restore-unfinished"), nil, 0o600))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := Restore(tc.ctx, path, dir); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
