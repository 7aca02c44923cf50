// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bowline-dev/bowline/controlplane"
)

// The registry is a folder of this user with one file for each started server, which holds the path of its data folder. It is
// only a hint for clients without --data-dir.

// Register adds a data folder to the registry, and removes those on which no server runs any more.
func Register(dataDir string) error {
	registry, err := registryDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(registry, 0o700); err != nil {
		return fmt.Errorf("creating registry of servers: %w", err)
	}
	for file, dir := range registered(registry) {
		if _, ok := controlplane.Holder(dir); !ok {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cleaning registry of servers: %w", err)
			}
		}
	}
	sum := sha256.Sum256([]byte(dataDir))
	if err := WriteFile(filepath.Join(registry, hex.EncodeToString(sum[:8])), []byte(dataDir+"\n")); err != nil {
		return fmt.Errorf("adding server to registry: %w", err)
	}
	return nil
}

// runningServers returns the data folders of this user's running servers, sorted.
func runningServers() []string {
	registry, err := registryDir()
	if err != nil {
		return nil // without a cache folder no server can be registered
	}
	var running []string
	for _, dir := range registered(registry) {
		if _, ok := controlplane.Holder(dir); ok {
			running = append(running, dir)
		}
	}
	sort.Strings(running)
	return running
}

// registered maps the registry's files to the data folders they name. Unreadable files are left out.
func registered(registry string) map[string]string {
	dirs := map[string]string{}
	entries, err := os.ReadDir(registry)
	if err != nil {
		return dirs
	}
	for _, entry := range entries {
		file := filepath.Join(registry, entry.Name())
		content, err := os.ReadFile(file)
		dir := strings.TrimSuffix(string(content), "\n")
		if err == nil && filepath.IsAbs(dir) {
			dirs[file] = dir
		}
	}
	return dirs
}

func registryDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding registry of servers: %w", err)
	}
	return filepath.Join(cache, "bowline", "servers"), nil
}
