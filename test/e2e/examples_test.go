// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io/fs"
	"path/filepath"
	"testing"
)

// The server accepts every YAML in examples.
func examples(t *testing.T, s *stage) {
	for _, namespace := range []string{"quickstart", "shop"} {
		if out, err := s.Run(t.Context(), "kubectl", "create", "namespace", namespace); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	root := filepath.Join("..", "..", "examples")
	found := 0
	err := filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if filepath.Ext(file) == ".yaml" {
			found++
		}
		return err
	})
	if err != nil || found < 20 {
		t.Fatalf("found %d examples: %v", found, err)
	}
	if out, err := s.Run(t.Context(), "kubectl", "apply", "--dry-run=server", "--validate=strict", "-R", "-f", root); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
