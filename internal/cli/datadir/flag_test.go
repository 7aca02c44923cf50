// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"os/exec"
	"testing"
)

// What is printed to be typed must reach the program as it was meant.
func TestShellQuote(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"/var/lib/bowline", "/tmp/with space", "it's", "$HOME", "a\"b", "", "*"} {
		out, err := exec.Command("sh", "-c", "printf %s "+ShellQuote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("the shell reads %q as %q: %v", ShellQuote(word), out, err)
		}
	}
	if got := ShellQuote("/var/lib/bowline"); got != "/var/lib/bowline" {
		t.Errorf("a plain word became %s", got)
	}
}
