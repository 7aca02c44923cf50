// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"io"
	"os"
	"strings"
)

// maxLogBytes is the size at which the log is rotated when a server starts.
const maxLogBytes = 4 << 20

// openLog opens the log for a server that is about to start, and returns the offset at which its output will begin. The server
// writes to the file directly, also after this process has ended.
func openLog(path string) (log *os.File, start int64, err error) {
	if logSize(path) > maxLogBytes {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, 0, err
		}
	}
	log, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	start, err = log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, errors.Join(err, log.Close())
	}
	return log, start, nil
}

// logSize is 0 if there is no log.
func logSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// logSince returns the output from start on, at most the last 64 KiB of it, or the reason why it cannot be read.
func logSince(path string, start int64) string {
	const enough = 64 << 10
	log, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer log.Close() // only read
	end := logSize(path)
	start = max(start, end-enough)
	output, err := io.ReadAll(io.NewSectionReader(log, start, end-start))
	if err != nil {
		return err.Error()
	}
	return string(output)
}

// LastCause returns what follows a mark in the last line of the output that contains one, else the last line.
func LastCause(output string, marks ...string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		for _, mark := range marks {
			if _, cause, ok := strings.Cut(lines[i], mark); ok {
				return strings.TrimSpace(cause)
			}
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
