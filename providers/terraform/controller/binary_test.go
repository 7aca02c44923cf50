// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// Only a version that the spec still permits is used again after a restart.
func TestLastUsed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, version := range []string{"1.0.0", "1.1.0"} {
		in := filepath.Join(folder, defaultHost, "bowline-dev", "reef", version, platform)
		if err := os.MkdirAll(in, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in, "terraform-provider-reef"), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o := &Options{Folders: []string{folder}}
	for name, tc := range map[string]struct {
		source, constraint, used, newer string
		want                            string
	}{
		"it is permitted":                   {"bowline-dev/reef", "~> 1.0", "1.0.0", "1.1.0", "1.0.0"},
		"it is permitted among others":      {"bowline-dev/reef", ">= 0.9, < 2", "1.0.0", "1.1.0", "1.0.0"},
		"it was the newer one":              {"bowline-dev/reef", "~> 1.0", "1.1.0", "1.1.0", ""},
		"the spec excludes it":              {"bowline-dev/reef", "1.1.0", "1.0.0", "1.1.0", ""},
		"it is not in the folders any more": {"bowline-dev/reef", "~> 1.0", "1.0.1", "1.1.0", ""},
		"no version was used":               {"bowline-dev/reef", "~> 1.0", "", "1.1.0", ""},
		"the status has no version":         {"bowline-dev/reef", "~> 1.0", "../1.0.0", "1.1.0", ""},
		"the spec has a path":               {"", "", "1.0.0", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tp := &v1alpha1.TerraformProvider{Spec: v1alpha1.TerraformProviderSpec{Source: tc.source, Version: tc.constraint}}
			tp.Status.Version = tc.used
			if got, ok := o.lastUsed(tp, binary{version: tc.newer}); got.version != tc.want || ok != (tc.want != "") {
				t.Errorf("it is %+v, %t, want %q", got, ok, tc.want)
			}
		})
	}
}
