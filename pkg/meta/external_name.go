// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckExternalName refuses an external name that people cannot read or tell from another one: one that is blank, that begins or ends
// with a space, or that has characters without a shape of their own, such as control characters and marks of the text direction.
func CheckExternalName(name string) error {
	for _, r := range name {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return fmt.Errorf("the external name %+q contains %+q, which cannot be seen: choose another name", name, r)
		}
	}
	if strings.TrimSpace(name) != name {
		return fmt.Errorf("the external name %q begins or ends with a space: choose another name", name)
	}
	return nil
}

// CheckProposedName also refuses all but ASCII letters, digits and punctuation: other letters look like them, and authors of claims
// share the names of an external system.
func CheckProposedName(name string) error {
	for _, r := range name {
		if r <= ' ' || r > '~' {
			return fmt.Errorf("the external name %+q contains %+q: choose a name of ASCII letters, digits and punctuation", name, r)
		}
	}
	return nil
}
