// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// NotInstalled reports that no suitable version of a program is installed on this machine. pkg is the Debian package to install.
func NotInstalled(program, pkg string) error {
	return fmt.Errorf("%s is not installed on the cloud's machine; install it (Debian: apt-get install %s): "+
		"the instance then starts automatically", program, pkg)
}

// Program is an installed program.
type Program struct {
	Path, Version string // Path is absolute. Version is the version as the API shows it.
}

// Software describes the program of a server.
type Software struct {
	SearchPath []string // has folders, or patterns of folders as in filepath.Match
	// Locate returns the program in a folder, or an error if there is no complete installation.
	Locate  func(folder string) (path string, err error)
	Version *regexp.Regexp // matches the output of the program with --version. Its submatch is the version.
	Oldest  int            // the oldest suitable major version
}

// Find returns the installed programs, each version once: in the order of the search path, the newest of a pattern first.
func (s Software) Find(ctx context.Context) ([]Program, error) {
	var found []Program
	for _, pattern := range s.SearchPath {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("searching programs in %q: %w", pattern, err)
		}
		var here []Program
		for _, folder := range folders {
			path, err := s.Locate(folder)
			if err != nil || !filepath.IsAbs(path) {
				continue // There is no such program.
			}
			version, err := s.versionOf(ctx, path)
			if err != nil {
				return nil, err
			}
			known := func(other Program) bool { return other.Version == version }
			if Major(version) >= s.Oldest && !slices.ContainsFunc(found, known) && !slices.ContainsFunc(here, known) {
				here = append(here, Program{Path: path, Version: version})
			}
		}
		slices.SortStableFunc(here, func(a, b Program) int { return cmp.Compare(Major(b.Version), Major(a.Version)) })
		found = append(found, here...)
	}
	return found, nil
}

// versionOf returns an empty version if the program cannot run, for example when it is half removed. The error is that of ctx.
func (s Software) versionOf(ctx context.Context, path string) (string, error) {
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	match := s.Version.FindStringSubmatch(string(output))
	if err != nil || match == nil {
		return "", nil
	}
	return match[1], nil
}

// Major returns the major version, 0 if the version is not valid.
func Major(version string) int {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

// Loopback is the only address that servers listen on.
const Loopback = "127.0.0.1"

// PortRange holds the ports from First up to, but not including, End. Each service has its own, and all lie below those of
// outgoing connections of Linux (32768 and up), so that a server rarely loses its port while it is down.
type PortRange struct{ First, End int }

// Port ranges of the services.
var (
	ClusterPorts  = PortRange{First: 13616, End: 20000}
	DatabasePorts = PortRange{First: 20000, End: 26384}
	CachePorts    = PortRange{First: 26384, End: 32768}
)

// Free returns a random port of the range that is not in use and not taken.
func (r PortRange) Free(taken func(port int) bool) (int, error) {
	const attempts = 1000
	for range attempts {
		port := r.First + rand.IntN(r.End-r.First)
		if !taken(port) && IsFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("finding a free port on %s: all %d ports that were tried are in use", Loopback, attempts)
}

// IsFree reports whether a server could listen on the port.
func IsFree(port int) bool {
	l, err := net.Listen("tcp", Address(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// Address returns the address of a port of this machine.
func Address(port int) string { return net.JoinHostPort(Loopback, strconv.Itoa(port)) }
