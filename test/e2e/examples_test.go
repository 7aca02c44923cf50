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
	tried := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" {
			return err
		}
		tried++
		if out, err := s.Run(t.Context(), "kubectl", "apply", "--dry-run=server", "--validate=strict", "-f", file); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
		return nil
	})
	if err != nil || tried < 20 {
		t.Errorf("found %d examples: %v", tried, err)
	}
}
