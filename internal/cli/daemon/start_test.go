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
	cases := map[string]struct {
		size    int64
		rotated bool
	}{
		"New":   {size: 0},
		"Small": {size: maxLogSize},
		"Large": {size: maxLogSize + 1, rotated: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bowline.log")
			if tc.size > 0 {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(path, tc.size); err != nil {
					t.Fatal(err)
				}
			}
			f, err := openLog(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if kept := info.Size() == tc.size; kept == tc.rotated && tc.size > 0 {
				t.Errorf("a log of %d bytes continues with %d", tc.size, info.Size())
			}
			if _, err := os.Stat(path + ".1"); (err == nil) != tc.rotated {
				t.Errorf("rotated: want %t, got %v", tc.rotated, err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("the log has mode %v", info.Mode())
			}
		})
	}
}

func TestTail(t *testing.T) {
	long := strings.Repeat("line\n", logTail)
	cases := map[string]struct {
		content string
		begin   int64
		want    func(string) bool
	}{
		"All":       {"a\nb\n", 0, func(s string) bool { return s == "a\nb" }},
		"FromBegin": {"old\nnew\n", 4, func(s string) bool { return s == "new" }},
		"Rotated":   {"new\n", 100, func(s string) bool { return s == "" }},
		"Long":      {long, 0, func(s string) bool { return len(s) < logTail && strings.HasPrefix(s, "line\n") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := string(tail(path, tc.begin)); !tc.want(got) {
				t.Errorf("got %q", got)
			}
		})
	}
}
