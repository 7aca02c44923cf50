// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// oldestMajor is the first version that lets nobody point the server at other folders or programs while it runs.
const oldestMajor = 7

const serverProgram = "redis-server"

// Installation is a program of Redis.
type Installation struct {
	// Program is its path.
	Program string
	// Version is its major and minor version, for example "7.0".
	Version string
}

// NotInstalledError reports that no suitable Redis is installed on this machine.
type NotInstalledError struct{}

// Error says what to install.
func (*NotInstalledError) Error() string {
	return fmt.Sprintf("Redis %d or later is not installed on the cloud's machine; install it (Debian: apt-get install redis-server) "+
		"and the instance will come up by itself", oldestMajor)
}

// DefaultSearchPath returns the folders of PATH, then those of packages.
func DefaultSearchPath() []string {
	return append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/bin", "/usr/bin")
}

// FindInstallations looks for Redis in folders, in their order, and lists each version once. It looks afresh, so that what was
// just installed is found.
func FindInstallations(ctx context.Context, searchPath []string) ([]Installation, error) {
	var found []Installation
	seen := map[string]bool{}
	for _, folder := range searchPath {
		program := filepath.Join(folder, serverProgram) // Not what a link leads to: Debian's program goes by its name.
		if !filepath.IsAbs(program) {
			continue
		}
		if _, err := os.Stat(program); err != nil {
			continue //nolint:nilerr // No such program here.
		}
		out, err := exec.CommandContext(ctx, program, "--version").Output()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		version := parseVersion(string(out))
		if err != nil || majorOf(version) < oldestMajor || seen[version] { // Broken or half removed, too old, or known.
			continue
		}
		seen[version] = true
		found = append(found, Installation{Program: program, Version: version})
	}
	return found, nil
}

// Select returns the installation of the wanted version. If there is none, or none is wanted, it is the first: data of one
// version can be read by later ones, and only one is installed as a rule. The error is a *NotInstalledError when there is
// nothing to choose from.
func Select(installations []Installation, version string) (Installation, error) {
	for _, i := range installations {
		if i.Version == version {
			return i, nil
		}
	}
	if len(installations) == 0 {
		return Installation{}, &NotInstalledError{}
	}
	return installations[0], nil
}

// parseVersion reads the answer to --version, for example "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0".
func parseVersion(answer string) string {
	match := regexp.MustCompile(`Redis server v=([0-9]+\.[0-9]+)\.`).FindStringSubmatch(answer)
	if match == nil {
		return ""
	}
	return match[1]
}

func majorOf(version string) int {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}
