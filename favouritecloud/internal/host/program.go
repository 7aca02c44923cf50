// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
)

// NotInstalledError reports that no suitable version of a program is installed on this machine.
type NotInstalledError struct {
	// Program is the program with its version, for example "PostgreSQL 15".
	Program string
	// Package is the Debian package to install.
	Package string
}

// Error names the program and the package to install.
func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("%s is not installed on the cloud's machine; install it (Debian: apt-get install %s): "+
		"the instance then starts automatically", e.Program, e.Package)
}

// Version runs a program with --version and returns the first submatch of its output. It is empty if the program cannot run,
// for example because it is half removed, or prints something else. The error is that of ctx.
func Version(ctx context.Context, program string, pattern *regexp.Regexp) (string, error) {
	output, err := exec.CommandContext(ctx, program, "--version").Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	match := pattern.FindStringSubmatch(string(output))
	if err != nil || match == nil {
		return "", nil // Such a program counts as not installed.
	}
	return match[1], nil
}
