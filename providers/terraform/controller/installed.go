// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// Installed returns the binary that the controllers run for a TerraformProvider, if it is on this machine, too, with the right checksum. Who
// writes the status of objects must not choose which program a command runs: one without the name of a Terraform provider is refused.
func Installed(of *v1alpha1.TerraformProvider) (path string, err error) {
	path = of.Status.Binary
	if path == "" {
		return "", fmt.Errorf("TerraformProvider %s has no binary yet: see bowline why terraformprovider/%[1]s", of.Name)
	}
	if !filepath.IsAbs(path) || !strings.HasPrefix(filepath.Base(path), "terraform-provider-") {
		return "", fmt.Errorf("the binary of TerraformProvider %s, %q, does not have the path and name of a Terraform provider: it is not run here",
			of.Name, path)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("the binary of TerraformProvider %s, %s, is not on this machine: install it there, or run this where the controllers run",
			of.Name, path)
	}
	if err == nil {
		err = check(path, of.Spec.Checksums)
	}
	return path, err
}
