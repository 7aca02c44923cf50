// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCanReach(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stranger := Account{UID: 54321, GID: 54321}
	private, open := filepath.Join(root, "private"), filepath.Join(root, "open")
	for _, f := range []struct {
		path string
		mode os.FileMode
	}{{filepath.Dir(root), 0o711}, {root, 0o711}, {private, 0o700}, {open, 0o711}} {
		if err := errors.Join(os.MkdirAll(f.path, 0o700), os.Chmod(f.path, f.mode)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		private: false, filepath.Join(private, "new"): false, open: true, filepath.Join(open, "new", "er"): true,
	} {
		if got, err := stranger.CanReach(path); err != nil || got != want {
			t.Errorf("%s: got %t, %v", path, got, err)
		}
	}
	if got, err := (Account{UID: os.Geteuid()}).CanReach(private); err != nil || !got {
		t.Errorf("ourselves: got %t, %v", got, err)
	}
}
