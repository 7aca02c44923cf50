// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// LogPath is the log of a server that runs in the background.
func LogPath(dataDir string) string { return filepath.Join(dataDir, "bowline.log") }

// CloudDir is the folder of the local cloud within a data folder.
func CloudDir(dataDir string) string { return filepath.Join(dataDir, "cloud") }

func runFilePath(dataDir string) string { return filepath.Join(dataDir, "run.json") }

// RunFile describes a running server to clients. It lies in the data folder while the server runs. A file left behind by a
// killed server is recognized by its PID, which does not hold the lock.
type RunFile struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`   // when it became ready
	Address string    `json:"address"` // host:port of the API server
	Version string    `json:"version"`
	Cloud   string    `json:"cloud,omitempty"` // URL of the local cloud, if it runs
}

// NewRunFile describes this process.
func NewRunFile(address, version string) RunFile {
	return RunFile{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second), Address: address, Version: version}
}

// Write writes the run file.
func (r RunFile) Write(dataDir string) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding run file: %w", err)
	}
	return WriteFile(runFilePath(dataDir), append(content, '\n'))
}

// RemoveRunFile removes the run file, if there is one.
func RemoveRunFile(dataDir string) error {
	if err := os.Remove(runFilePath(dataDir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing run file: %w", err)
	}
	return nil
}

// ReadRunFile returns false if there is none of the given process.
func ReadRunFile(dataDir string, pid int) (RunFile, bool) {
	var r RunFile
	content, err := os.ReadFile(runFilePath(dataDir))
	if err != nil || json.Unmarshal(content, &r) != nil || r.PID != pid {
		return RunFile{}, false
	}
	return r, true
}
