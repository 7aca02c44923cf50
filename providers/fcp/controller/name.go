// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "strings"

const (
	longestName  = 63            // that the cloud takes: [a-z]([-a-z0-9]*[a-z0-9])?
	uniqueEnding = len("-x1b2c") // what makes the names unique of objects that come from claims
)

// cloudName makes a name that the cloud takes from that of an object, always the same for the same object. Kubernetes allows
// more: a digit at the beginning, as where a claim's namespace has one, and dots. Most names stay as they are. Should two
// objects come to one name, the cloud gives it to one of them and refuses the other, as with every name that is taken.
func cloudName(of string) string {
	name := strings.ReplaceAll(of, ".", "-")
	if name != "" && (name[0] < 'a' || name[0] > 'z') {
		name = "x" + name
	}
	if cut := len(name) - longestName; cut > 0 {
		ending := len(name) - uniqueEnding
		name = name[:ending-cut] + name[ending:]
	}
	return name
}
