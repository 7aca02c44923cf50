// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// An empty folder that others may look into is closed and used; one that holds something else is left as it is.
func TestFoldersThatExist(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	empty := filepath.Join(m.dataDir(), "empty folder")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	m.up(empty)
	m.must("down", "--data-dir", empty)

	used := filepath.Join(m.dataDir(), "used")
	if err := os.MkdirAll(filepath.Join(used, "photos"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, how := range [][]string{{"up", "--detach"}, {"up"}, {"cloud"}} {
		if result := m.run(append(how, "--data-dir", used)...); result.code != 1 {
			t.Errorf("%v on a folder that is used for something else: %+v", how, result)
		}
	}
	entries, err := os.ReadDir(used)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder now holds %v (%v)", entries, err)
	}
}
