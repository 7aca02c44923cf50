// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// line is one of the log at a time before now.
func line(ago time.Duration, text string) string {
	return time.Now().Add(-ago).Format(time.DateTime) + " bowline: " + text + "\n"
}

func TestRotation(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		before  string // in the log
		size    int64  // of it in all, filled up with zeroes
		rotated bool
	}{
		"New":     {},
		"Small":   {before: line(time.Hour, "a")},
		"Largest": {before: line(time.Hour, "a"), size: maxSize - 100},
		"Large":   {before: line(time.Hour, "a"), size: maxSize, rotated: true},
		"Old":     {before: line(maxAge+time.Hour, "a"), rotated: true},
	}
	for name, tc := range cases {
		for _, running := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/running=%t", name, running), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "[logs]*", "bowline.log") // special characters of patterns
				check(t, os.Mkdir(filepath.Dir(path), 0o700))
				fill := func() {
					check(t, os.WriteFile(path, []byte(tc.before), 0o600))
					if tc.size > 0 {
						check(t, os.Truncate(path, tc.size))
					}
				}
				if !running {
					fill()
				}
				f, err := OpenFile(path)
				check(t, err)
				defer f.Close()
				if running { // a process that has written this much
					fill()
					f.size, f.begun = max(tc.size, int64(len(tc.before))), firstTime(path)
				}
				last := line(0, "new")
				_, err = f.Write([]byte(last))
				check(t, err)
				f.sweep()
				files := Files(path)
				if rotated := len(files) > 1; rotated != tc.rotated {
					t.Fatalf("files %q, want a rotated one: %t", files, tc.rotated)
				}
				for _, file := range files {
					if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
						t.Errorf("%s: mode %v, %v", file, info.Mode(), err)
					}
				}
				if tc.rotated && !strings.HasSuffix(files[0], ".gz") {
					t.Errorf("%s is not compressed", files[0])
				}
				var all bytes.Buffer
				check(t, Read(t.Context(), &all, path, Selection{Tail: -1}))
				if text := strings.ReplaceAll(all.String(), "\x00", ""); text != tc.before+last {
					t.Errorf("the log and its rotated file have %q", text)
				}
			})
		}
	}
}

// A rotation that fails, such as on a disk without inodes, neither loses the log nor prevents the next one.
func TestFailedRotationKeepsTheLog(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "logs")
	check(t, os.Mkdir(folder, 0o700))
	path := filepath.Join(folder, "bowline.log")
	f, err := OpenFile(path)
	check(t, err)
	defer f.Close()
	write := func(text string) {
		_, err := f.Write([]byte(text))
		check(t, err)
	}
	write("one\n")
	check(t, os.Rename(folder, folder+".away"))
	if f.rotate() == nil {
		t.Error("a log is opened in a folder that does not exist")
	}
	write("two\n")
	check(t, os.Rename(folder+".away", folder))
	check(t, os.Rename(path, path+".20260101T000000.000000000")) // by somebody else
	check(t, f.rotate())
	write("three\n")
	f.sweep()
	var all bytes.Buffer
	check(t, Read(t.Context(), &all, path, Selection{Tail: -1}))
	if diff := cmp.Diff("one\ntwo\nthree\n", all.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A panic is written to the standard error, which is the current log after a rotation, too.
func TestDescriptorsFollowTheRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bowline.log")
	stderr, err := unix.Dup(2) // a descriptor that only this test has
	check(t, err)
	defer func() { _ = unix.Close(stderr) }()
	f, err := OpenFile(path, stderr)
	check(t, err)
	defer f.Close()
	for i := range 2 {
		_, err = unix.Write(stderr, fmt.Appendf(nil, "panic %d\n", i))
		check(t, err)
		f.mu.Lock()
		check(t, f.rotate())
		f.mu.Unlock()
	}
	_, err = unix.Write(stderr, []byte("panic: last\n"))
	check(t, err)
	text, err := os.ReadFile(path)
	check(t, err)
	if diff := cmp.Diff("panic: last\n", string(text)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bowline.log")
	f, err := OpenFile(path)
	check(t, err)
	defer f.Close()
	for i := range keep + 3 {
		check(t, os.WriteFile(fmt.Sprintf("%s.20260101T0000%02d.000000000", path, i), []byte("a\n"), 0o600))
	}
	killed := path + ".20260101T000005.000000000"
	check(t, os.WriteFile(killed+zipped+partial, []byte("half"), 0o600)) // of a process that was killed
	old := path + ".20260101T000011.000000000"
	check(t, os.Chtimes(old, time.Time{}, time.Now().Add(-keepAge-time.Hour)))
	f.sweep()
	files := Files(path)
	if len(files) != keep || slices.Contains(files, old) || !slices.Contains(files, killed+zipped) {
		t.Errorf("files %q, want the last %d without the old one, and the current one", files, keep)
	}
	for _, file := range files[:len(files)-1] {
		if !strings.HasSuffix(file, zipped) {
			t.Errorf("%s is not compressed", file)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bowline.log")
	if err := Read(t.Context(), &bytes.Buffer{}, path, Selection{Tail: -1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want none such", err)
	}
	first, second, third := line(3*time.Hour, "first"), line(2*time.Hour, "second")+"of two lines\n", line(0, "third")
	check(t, os.WriteFile(path+".20260101T000000.000000000", []byte(first), 0o600))
	check(t, compress(path+".20260101T000000.000000000"))
	check(t, os.WriteFile(path+".20260102T000000.000000000", []byte(second), 0o600))
	check(t, os.WriteFile(path, []byte(third), 0o600))
	cases := map[string]struct {
		selection Selection
		want      string
	}{
		"All":      {Selection{Tail: -1}, first + second + third},
		"Since":    {Selection{Tail: -1, Since: time.Now().Add(-150 * time.Minute)}, second + third},
		"Tail":     {Selection{Tail: 2}, "of two lines\n" + third},
		"TailZero": {Selection{}, ""},
		"Both":     {Selection{Tail: 5, Since: time.Now().Add(-time.Minute)}, third},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			check(t, Read(t.Context(), &out, path, tc.selection))
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A followed log is shown over a rotation, without a gap.
func TestFollow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bowline.log")
	f, err := OpenFile(path)
	check(t, err)
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lines := make(chan string, 10)
	done := make(chan error, 1)
	go func() { done <- Read(ctx, sendTo(lines), path, Selection{Tail: -1, Follow: true}) }()
	shows := func(want string) {
		t.Helper()
		for got := ""; got != want; {
			select {
			case more := <-lines:
				got += more
			case <-ctx.Done():
				t.Fatalf("shown %q, want %q", got, want)
			}
		}
	}
	write := func(text string) {
		_, err := f.Write([]byte(text))
		check(t, err)
	}
	write("one")
	shows("one")
	write("two")
	f.mu.Lock()
	check(t, f.rotate())
	f.mu.Unlock()
	write("three")
	shows("twothree")
	cancel()
	check(t, <-done)
}

type sendTo chan<- string

func (s sendTo) Write(text []byte) (int, error) {
	if len(text) > 0 {
		s <- string(text)
	}
	return len(text), nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
