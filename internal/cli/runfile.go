// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A runFile is what a running server says of itself to the commands that ask about it. It lies in the data folder while
// the server runs; one left behind by a killed server is known by its pid, which is not the lock's holder.
type runFile struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`   // when it was ready
	Address string    `json:"address"` // host:port of the API server
	Version string    `json:"version"`
	Cloud   string    `json:"cloud,omitempty"` // URL of the local cloud, if it runs
}

func runFilePath(dataDir string) string { return filepath.Join(dataDir, "run.json") }

// announce writes the run file and notes the server in the registry.
func announce(dataDir string, r runFile) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding run file: %w", err)
	}
	return writeFile(runFilePath(dataDir), append(content, '\n'))
}

// renounce removes the run file.
func renounce(dataDir string) error {
	if err := os.Remove(runFilePath(dataDir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing run file: %w", err)
	}
	return nil
}

// readRunFile returns false when there is none, or when it is not the given process's.
func readRunFile(dataDir string, pid int) (runFile, bool) {
	content, err := os.ReadFile(runFilePath(dataDir))
	if err != nil {
		return runFile{}, false
	}
	var r runFile
	if err := json.Unmarshal(content, &r); err != nil || r.PID != pid {
		return runFile{}, false
	}
	return r, true
}
