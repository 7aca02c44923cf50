// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Selection is what to read of a log.
type Selection struct {
	Since  time.Time // lines from then on; zero for all
	Tail   int       // so many lines at most; negative for all
	Follow bool      // and what is written from now on
}

// followInterval is how often a followed log is read.
const followInterval = 300 * time.Millisecond

// Read writes the lines of a log and of its rotated files to w. It returns fs.ErrNotExist if there is no log.
func Read(ctx context.Context, w io.Writer, path string, s Selection) error {
	current, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { current.Close() }()
	lines := &selected{Selection: s, w: w, shows: s.Since.IsZero()}
	files := Files(path)
	for _, rotated := range files[:len(files)-1] {
		if err := readRotated(rotated, lines); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := errors.Join(lines.read(current), lines.flush()); err != nil || !s.Follow {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followInterval):
		}
		if _, err := io.Copy(w, current); err != nil {
			return err
		}
		next, err := os.Open(path)
		if err != nil {
			continue // between two steps of a rotation
		}
		if same(current, next) {
			next.Close()
			continue
		}
		_, err = io.Copy(w, current) // what was written before the rotation
		current.Close()
		if current = next; err != nil {
			return err
		}
	}
}

func same(a, b *os.File) bool {
	one, err := a.Stat()
	two, err2 := b.Stat()
	return err == nil && err2 == nil && os.SameFile(one, two)
}

func readRotated(path string, lines *selected) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // compressed since it was listed
		path += zipped
		file, err = os.Open(path)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if !strings.HasSuffix(path, zipped) {
		return lines.read(file)
	}
	content, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	return lines.read(content)
}

// selected writes the selected lines; with Tail only when it is flushed.
type selected struct {
	Selection
	w     io.Writer
	shows bool
	last  []string
}

func (s *selected) read(from io.Reader) error {
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadString('\n')
		if at, ok := timeOf(line); ok && !s.shows {
			s.shows = !at.Before(s.Since)
		}
		switch {
		case !s.shows || line == "":
		case s.Tail < 0:
			if _, err := io.WriteString(s.w, line); err != nil {
				return err
			}
		default:
			s.last = append(s.last, line)
			s.last = s.last[max(len(s.last)-s.Tail, 0):]
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}

func (s *selected) flush() error {
	_, err := io.WriteString(s.w, strings.Join(s.last, ""))
	return err
}
