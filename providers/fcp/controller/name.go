// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "strings"

const (
	maxNameLength = 63            // [a-z]([-a-z0-9]*[a-z0-9])?
	uniqueEnding  = len("-x1b2c") // of objects that are created for claims
)

// cloudName converts the name of an object to one that the cloud accepts, deterministically. Kubernetes also permits dots and a
// leading digit. If two objects get the same name the cloud refuses the second.
func cloudName(of string) string {
	name := strings.ReplaceAll(of, ".", "-")
	if name != "" && (name[0] < 'a' || name[0] > 'z') {
		name = "x" + name
	}
	if cut := len(name) - maxNameLength; cut > 0 {
		ending := len(name) - uniqueEnding
		name = name[:ending-cut] + name[ending:]
	}
	return name
}
