// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCopyOfADataFolderIsRefused(t *testing.T) {
	base := t.TempDir()
	original, copied, moved := filepath.Join(base, "original"), filepath.Join(base, "copy"), filepath.Join(base, "moved")
	serveSecret(t, Config{DataDir: original}, false)
	must(t, os.CopyFS(copied, os.DirFS(original)))
	must(t, os.Chmod(copied, 0o700))
	for name, err := range map[string]error{
		"server": newServer(t, Config{DataDir: copied}).Run(t.Context()), "other commands": PrepareFolder(copied),
	} {
		if refused, ok := errors.AsType[*CopyError](err); !ok || refused.Original != original || !strings.Contains(err.Error(), "Delete only the folder itself") {
			t.Errorf("%s on a copy: %v", name, err)
		}
	}
	link := filepath.Join(base, "link")
	must(t, os.Symlink(original, link))
	serveSecret(t, Config{DataDir: link}, true) // another path to the same folder

	must(t, os.Rename(original, moved))
	serveSecret(t, Config{DataDir: moved}, true)
	must(t, os.RemoveAll(moved))
	serveSecret(t, Config{DataDir: copied}, true) // nothing else has the identity
}

func TestUnfinishedRestore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	release, err := BeginRestore(dir, nil)
	must(t, err)
	must(t, release())
	must(t, os.WriteFile(filepath.Join(dir, "half"), nil, 0o600))
	if err := newServer(t, Config{DataDir: dir}).Run(t.Context()); err == nil {
		t.Error("a server runs on an unfinished restore")
	}
	release, err = BeginRestore(dir, func() error { return AbortRestore(dir) })
	must(t, err)
	must(t, release())
	must(t, AbortRestore(dir))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "lock" {
		t.Errorf("an aborted restore leaves %v, %v", left, err)
	}
}
