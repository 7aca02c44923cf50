// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxSize  = 10 << 20            // bytes of a log
	maxAge   = 7 * 24 * time.Hour  // of the first line of a log
	keep     = 9                   // rotated logs
	keepAge  = 30 * 24 * time.Hour // of rotated logs
	zipped   = ".gz"
	partial  = ".tmp" // a compressed log that is not complete
	rotation = "20060102T150405.000000000"
)

// A File is a log file that is rotated by size and age: PATH becomes PATH.<time>, which is compressed. All files have mode 0600. A
// library would leave the standard error of the process, where a panic is written, in a rotated file.
type File struct {
	path        string
	descriptors []int // that are this file, too

	mu    sync.Mutex
	file  *os.File
	size  int64
	begun time.Time

	sweeping sync.Mutex
	sweeps   sync.WaitGroup
}

// OpenFile opens a log for appending, and rotates it before if it is due. The descriptors are those of the process that become this
// file, now and after each rotation.
func OpenFile(path string, descriptors ...int) (*File, error) {
	f := &File{path: path, descriptors: descriptors}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("opening log: %w", err)
	}
	if f.due(0) {
		return f, f.rotate()
	}
	return f, nil
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if f.size, err = file.Seek(0, io.SeekEnd); err != nil {
		return errors.Join(err, file.Close())
	}
	for _, descriptor := range f.descriptors {
		if err := unix.Dup3(int(file.Fd()), descriptor, 0); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if f.file != nil {
		_ = f.file.Close() // its lines are written
	}
	f.file, f.begun = file, firstTime(f.path)
	return nil
}

// firstTime returns when the first line of a log was written, now if there is none.
func firstTime(path string) time.Time {
	line := make([]byte, len(time.DateTime))
	if file, err := os.Open(path); err == nil {
		_, _ = io.ReadFull(file, line)
		file.Close()
	}
	if begun, ok := timeOf(string(line)); ok {
		return begun
	}
	return time.Now()
}

// timeOf returns the time at the begin of a line, if it has one.
func timeOf(line string) (time.Time, bool) {
	at, err := time.ParseInLocation(time.DateTime, line[:min(len(line), len(time.DateTime))], time.Local)
	return at, err == nil
}

// Attach makes the log the output of a command.
func (f *File) Attach(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = f.file, f.file }

// Size returns the size of the log in bytes.
func (f *File) Size() (int64, error) { return f.file.Seek(0, io.SeekEnd) }

// Close closes the log, when the rotated ones are compressed.
func (f *File) Close() error {
	f.sweeps.Wait()
	return f.file.Close()
}

// Write appends a line. If the log cannot be rotated, it grows.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.due(len(line)) {
		if err := f.rotate(); err != nil {
			f.size, f.begun = 0, time.Now() // tried again when it is due again
		}
	}
	n, err := f.file.Write(line)
	f.size += int64(n)
	return n, err
}

func (f *File) due(more int) bool {
	return f.size > 0 && (f.size+int64(more) > maxSize || time.Since(f.begun) > maxAge)
}

// rotate opens a new log. Until that succeeds, lines go to the former one, which sweep would remove. A log that was removed or renamed by
// somebody else is replaced, too.
func (f *File) rotate() error {
	rotated := f.path + "." + time.Now().UTC().Format(rotation)
	if err := os.Rename(f.path, rotated); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rotating log: %w", err)
	}
	if err := f.open(); err != nil {
		return errors.Join(fmt.Errorf("rotating log: %w", err), os.Rename(rotated, f.path))
	}
	f.sweeps.Go(f.sweep)
	return nil
}

// sweep compresses the rotated logs and removes old ones. What a killed process left undone is done at the next rotation.
func (f *File) sweep() {
	f.sweeping.Lock()
	defer f.sweeping.Unlock()
	files := Files(f.path)
	rotated := files[:max(len(files)-1, 0)]
	for i, path := range rotated {
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case len(rotated)-i > keep, time.Since(info.ModTime()) > keepAge:
			_ = os.Remove(path)
		case !strings.HasSuffix(path, zipped):
			_ = compress(path) // tried again at the next rotation
		}
	}
}

// compress replaces a log by a compressed one.
func compress(path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path+zipped+partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := gzip.NewWriter(to)
	_, err = io.Copy(w, from)
	if err = errors.Join(err, w.Close(), to.Sync(), to.Close()); err != nil {
		return errors.Join(err, os.Remove(to.Name()))
	}
	if err := os.Rename(to.Name(), path+zipped); err != nil {
		return err
	}
	return os.Remove(path)
}

// Files returns the files of a log, the oldest first and the current one last.
func Files(path string) []string {
	entries, _ := os.ReadDir(filepath.Dir(path)) // without the folder there are no logs
	var found []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), filepath.Base(path)+".") {
			found = append(found, filepath.Join(filepath.Dir(path), entry.Name()))
		}
	}
	rotated := slices.DeleteFunc(slices.Clone(found), func(name string) bool {
		return strings.HasSuffix(name, partial) || slices.Contains(found, name+zipped)
	})
	slices.Sort(rotated)
	return append(rotated, path)
}
