// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// oldestMajor is the first version that detects processes of a killed server that still use the data.
const oldestMajor = 12

// Installation is a set of PostgreSQL programs.
type Installation struct {
	// BinDir is the folder of postgres and initdb.
	BinDir string
	// Major is the major version, for example "15".
	Major string
}

// DefaultSearchPath returns the folders of PATH, then Debian's.
func DefaultSearchPath() []string {
	return append(filepath.SplitList(os.Getenv("PATH")), "/usr/lib/postgresql/*/bin")
}

// FindInstallations searches folders or patterns of folders for PostgreSQL: in their order, and within one pattern the newest
// first. Each major version is listed once. The result is not cached, so that new installations are found.
func FindInstallations(ctx context.Context, searchPath []string) ([]Installation, error) {
	var found []Installation
	for _, pattern := range searchPath {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("searching PostgreSQL in %q: %w", pattern, err)
		}
		var here []Installation
		for _, folder := range folders {
			i, err := installationIn(ctx, folder)
			if err != nil {
				return nil, err
			}
			same := func(other Installation) bool { return other.Major == i.Major }
			if i.Major != "" && !slices.ContainsFunc(found, same) && !slices.ContainsFunc(here, same) {
				here = append(here, i)
			}
		}
		slices.SortStableFunc(here, func(a, b Installation) int { return cmp.Compare(number(b.Major), number(a.Major)) })
		found = append(found, here...)
	}
	return found, nil
}

// Select returns the first installation of the major version, of any version if that is empty. The error is a
// *host.NotInstalledError when there is none.
func Select(installations []Installation, major string) (Installation, error) {
	for _, i := range installations {
		if major == "" || i.Major == major {
			return i, nil
		}
	}
	missing := &host.NotInstalledError{Program: "PostgreSQL", Package: "postgresql"}
	if major != "" {
		missing.Program, missing.Package = "PostgreSQL "+major, "postgresql-"+major
	}
	return Installation{}, missing
}

// installationIn returns an Installation without Major when the folder contains no complete and working installation.
func installationIn(ctx context.Context, folder string) (Installation, error) {
	// The programs find their library by their real path, and links to them are often created one by one.
	server, err := filepath.EvalSymlinks(filepath.Join(folder, serverProgram))
	if err != nil || !filepath.IsAbs(server) {
		return Installation{}, nil // There is no such program.
	}
	binDir := filepath.Dir(server)
	if _, err := os.Stat(filepath.Join(binDir, initProgram)); err != nil {
		return Installation{}, nil // The installation is incomplete.
	}
	// For example "postgres (PostgreSQL) 15.4 (Debian 15.4-1)".
	major, err := host.Version(ctx, server, regexp.MustCompile(`\(PostgreSQL\) ([0-9]+)`))
	if err != nil || number(major) < oldestMajor {
		return Installation{}, err
	}
	return Installation{BinDir: binDir, Major: major}, nil
}

func number(major string) int {
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

// majorOf returns the version that the data belongs to.
func majorOf(data string) (string, error) {
	content, err := readIn(data, "PG_VERSION")
	if err != nil {
		return "", fmt.Errorf("reading version of data folder: %w", err)
	}
	major := strings.TrimSpace(content)
	if number(major) == 0 {
		return "", errors.New("reading version of data folder: PG_VERSION is not a number")
	}
	return major, nil
}

// readIn reads a small file of a folder that the superuser of the database can write to: it follows no link out of it.
func readIn(folder, name string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close() // only read
	content, err := root.ReadFile(name)
	return string(content), err
}
