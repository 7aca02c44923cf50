// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit"
)

// A part of what make crashpoints does.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	root, err := testkit.Make("build")
	if err != nil {
		t.Fatal(err)
	}
	good, err := run(t.Context(), []string{"--bowline", filepath.Join(root, "bin", "bowline"), "--operation", "change", "--point", "4"}, t.Output())
	if !good || err != nil {
		t.Errorf("there are violations, or %v", err)
	}
}
