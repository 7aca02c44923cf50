// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Files are read again only if their size or time says that they have changed.
func TestHashes(t *testing.T) {
	t.Parallel()
	first, past := []byte("first"), time.Now().Add(-time.Hour)
	for name, tc := range map[string]struct {
		change  func(binary string) error
		changed bool
	}{
		"nothing": {func(string) error { return nil }, false},
		"content of the same size and time": {func(b string) error {
			return errors.Join(os.WriteFile(b, []byte("other"), 0o700), os.Chtimes(b, past, past))
		}, false},
		"another time": {func(b string) error { return os.WriteFile(b, []byte("other"), 0o700) }, true},
		"another size": {func(b string) error {
			return errors.Join(os.WriteFile(b, []byte("longer"), 0o700), os.Chtimes(b, past, past))
		}, true},
		"another file of the package": {func(b string) error { return os.WriteFile(filepath.Join(filepath.Dir(b), "LICENSE"), nil, 0o600) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			binary, h := filepath.Join(t.TempDir(), "provider"), hashes{}
			if err := errors.Join(os.WriteFile(binary, first, 0o700), os.Chtimes(binary, past, past)); err != nil {
				t.Fatal(err)
			}
			before, err := h.of(binary)
			if err != nil || len(before) != 2 {
				t.Fatal(before, err)
			}
			if err := tc.change(binary); err != nil {
				t.Fatal(err)
			}
			now, err := h.of(binary)
			if err != nil || slices.Equal(before, now) == tc.changed {
				t.Errorf("before %v, now %v, error %v", before, now, err)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		if _, err := (hashes{}).of(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
}
