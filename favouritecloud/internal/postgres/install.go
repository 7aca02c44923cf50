// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldestMajor is the first version that notices by itself when processes of a killed predecessor still use the data.
const oldestMajor = 12

// Installation is a set of PostgreSQL programs.
type Installation struct {
	// BinDir is the folder that holds postgres and initdb.
	BinDir string
	// Major is the major version, for example "15".
	Major string
}

// NotInstalledError reports that no suitable PostgreSQL is installed on this machine.
type NotInstalledError struct {
	// Major is the version that is missing; empty for any.
	Major string
}

// Error says what to install.
func (e *NotInstalledError) Error() string {
	if e.Major == "" {
		return "PostgreSQL is not installed on the cloud's machine; install it (Debian: apt-get install postgresql) and the instance will come up by itself"
	}
	return fmt.Sprintf("PostgreSQL %s is not installed on the cloud's machine; install it (Debian: apt-get install postgresql-%s) and the instance will come up by itself", e.Major, e.Major)
}

// DefaultSearchPath returns the folders of PATH, then Debian's.
func DefaultSearchPath() []string {
	return append(filepath.SplitList(os.Getenv("PATH")), "/usr/lib/postgresql/*/bin")
}

// FindInstallations looks for PostgreSQL in folders or patterns of folders: in their order, and within one pattern
// the newest first. Each major version is listed once. It looks afresh, so that what was just installed is found.
func FindInstallations(ctx context.Context, searchPath []string) ([]Installation, error) {
	var found []Installation
	seen := map[string]bool{}
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
			if i.Major != "" && !seen[i.Major] {
				seen[i.Major] = true
				here = append(here, i)
			}
		}
		slices.SortStableFunc(here, func(a, b Installation) int { return cmp.Compare(number(b.Major), number(a.Major)) })
		found = append(found, here...)
	}
	return found, nil
}

// Select returns the first installation of the wanted major version, any if that is empty. The error is a
// *NotInstalledError when there is none.
func Select(installations []Installation, major string) (Installation, error) {
	for _, i := range installations {
		if major == "" || i.Major == major {
			return i, nil
		}
	}
	return Installation{}, &NotInstalledError{Major: major}
}

// installationIn returns an Installation without Major when the folder holds none that works.
func installationIn(ctx context.Context, folder string) (Installation, error) {
	// The programs find their library by their real place, and links to them are often made one by one.
	server, err := filepath.EvalSymlinks(filepath.Join(folder, "postgres"))
	if err != nil || !filepath.IsAbs(server) {
		return Installation{}, nil //nolint:nilerr // No such program here.
	}
	binDir := filepath.Dir(server)
	if _, err := os.Stat(filepath.Join(binDir, "initdb")); err != nil {
		return Installation{}, nil //nolint:nilerr // Half an installation is none.
	}
	out, err := exec.CommandContext(ctx, server, "--version").Output()
	if ctx.Err() != nil {
		return Installation{}, ctx.Err()
	}
	if err != nil {
		return Installation{}, nil //nolint:nilerr // Cannot run: broken or half removed.
	}
	major := parseMajor(string(out))
	if number(major) < oldestMajor {
		return Installation{}, nil
	}
	return Installation{BinDir: binDir, Major: major}, nil
}

// parseMajor reads the answer to --version, for example "postgres (PostgreSQL) 15.4 (Debian 15.4-1)".
func parseMajor(version string) string {
	match := regexp.MustCompile(`\(PostgreSQL\) ([0-9]+)`).FindStringSubmatch(version)
	if match == nil {
		return ""
	}
	return match[1]
}

func number(major string) int {
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

// majorOf returns the version that a data folder was made with.
func majorOf(data string) (string, error) {
	content, err := readIn(data, "PG_VERSION")
	if err != nil {
		return "", fmt.Errorf("reading version of data folder: %w", err)
	}
	major := strings.TrimSpace(content)
	if number(major) == 0 {
		return "", errors.New("reading version of data folder: PG_VERSION holds no number")
	}
	return major, nil
}

// readIn reads a small file of a folder that the database's superuser can write to: it follows no link out of it.
func readIn(folder, name string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // Read only.
	content, err := root.ReadFile(name)
	return string(content), err
}
