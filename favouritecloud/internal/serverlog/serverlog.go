// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serverlog keeps what servers print. A server writes to its file by itself, also after this process has ended.
package serverlog

import (
	"errors"
	"io"
	"os"
)

// maxBytes is the size at which the log of the run before is set aside when a server starts.
const maxBytes = 4 << 20

// Open opens the file for a server that is about to start, and returns where its words will begin.
func Open(path string) (log *os.File, start int64, err error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxBytes {
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

// Size returns where the words of a running server will begin from now on; 0 if there is no file.
func Size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Since returns what was printed from start on, at most the last 64 KiB of it; what went wrong if it cannot be read.
func Since(path string, start int64) string {
	const enough = 64 << 10
	log, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer log.Close() //nolint:errcheck // Read only.
	end, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	start = max(start, end-enough)
	words, err := io.ReadAll(io.NewSectionReader(log, start, end-start))
	if err != nil {
		return err.Error()
	}
	return string(words)
}
