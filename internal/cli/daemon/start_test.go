// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenLog(t *testing.T) {
	for size, rotated := range map[int64]bool{0: false, maxLogSize: false, maxLogSize + 1: true} {
		path := filepath.Join(t.TempDir(), "bowline.log")
		write(t, path, "")
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		f, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 || (info.Size() == size) == rotated {
			t.Errorf("a log of %d bytes continues as %v: %v", size, info, err)
		}
		if _, err := os.Stat(path + ".1"); (err == nil) != rotated {
			t.Errorf("a log of %d bytes is rotated: want %t, got %v", size, rotated, err)
		}
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, tc := range []struct {
		content string
		begin   int64
		want    string
	}{
		{"a\nb\n", 0, "a\nb"},
		{"old\nnew\n", 4, "new"},
		{"new\n", 100, ""}, // the log was rotated
		{strings.Repeat("line\n", logTail), 0, strings.TrimSuffix(strings.Repeat("line\n", logTail/5), "\n")},
	} {
		write(t, path, tc.content)
		if got := string(tail(path, tc.begin)); got != tc.want {
			t.Errorf("the end of %.20q from %d is %.20q", tc.content, tc.begin, got)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
