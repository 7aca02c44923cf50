// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// oldestMajor is the first version that does not let clients change the server's folders or modules at run time.
const oldestMajor = 7

const serverProgram = "redis-server"

// Installation is a program of Redis.
type Installation struct {
	// Program is its path.
	Program string
	// Version is its major and minor version, for example "7.0".
	Version string
}

// DefaultSearchPath returns the folders of PATH, then those of packages.
func DefaultSearchPath() []string {
	return append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/bin", "/usr/bin")
}

// FindInstallations searches folders for Redis, in their order, and lists each version once. The result is not cached, so that
// new installations are found.
func FindInstallations(ctx context.Context, searchPath []string) ([]Installation, error) {
	var found []Installation
	for _, folder := range searchPath {
		program := filepath.Join(folder, serverProgram) // Links are kept: Debian's program depends on its name.
		if _, err := os.Stat(program); err != nil || !filepath.IsAbs(program) {
			continue
		}
		// For example "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0".
		version, err := host.Version(ctx, program, regexp.MustCompile(`Redis server v=([0-9]+\.[0-9]+)\.`))
		if err != nil {
			return nil, err
		}
		known := slices.ContainsFunc(found, func(i Installation) bool { return i.Version == version })
		if majorOf(version) >= oldestMajor && !known {
			found = append(found, Installation{Program: program, Version: version})
		}
	}
	return found, nil
}

// Select returns the installation of the version, or else the first one: later versions can read the data of earlier ones, and
// usually only one is installed. The error is a *host.NotInstalledError when there is none.
func Select(installations []Installation, version string) (Installation, error) {
	for _, i := range installations {
		if i.Version == version {
			return i, nil
		}
	}
	if len(installations) == 0 {
		return Installation{}, &host.NotInstalledError{Program: fmt.Sprintf("Redis %d or later", oldestMajor), Package: "redis-server"}
	}
	return installations[0], nil
}

func majorOf(version string) int {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}
