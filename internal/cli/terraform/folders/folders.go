// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package folders tells commands in which folders of this machine the binaries of Terraform providers are. No others are run for
// TerraformProviders.
package folders

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// AddFlag registers --terraform-plugins, unless the options are nil. Its default are the folders where Terraform itself looks for providers.
func AddFlag(flags *pflag.FlagSet, o *controller.Options) {
	if o == nil {
		return
	}
	o.Folders = usual()
	flags.Var(&paths{of: &o.Folders}, "terraform-plugins", "`folder` with binaries of Terraform providers, a filesystem mirror as of "+
		"terraform providers mirror; nothing else is run for TerraformProviders; may be repeated")
}

// Downloads is the folder for what the controllers of a data folder download.
func Downloads(dataDir string) string { return filepath.Join(dataDir, "terraform-plugins") }

// UseDownloads lets a client run what the controllers of its server have downloaded, where it knows the data folder. The options may be nil.
func UseDownloads(o *controller.Options, folder *datadir.Flag) {
	if o == nil {
		return
	}
	if dataDir, err := folder.Client(); err == nil {
		o.Mirror.Folder = Downloads(dataDir)
	}
}

// paths is a flag with several paths, made absolute for processes with another working directory.
type paths struct {
	of  *[]string
	set bool // by the user, who replaces the default
}

// String implements pflag.Value.
func (f *paths) String() string {
	if f.of == nil {
		return ""
	}
	return strings.Join(*f.of, ", ")
}

// Type implements pflag.Value.
func (*paths) Type() string { return "folder" }

// Set implements pflag.Value.
func (f *paths) Set(path string) error {
	absolute, err := filepath.Abs(path)
	if !f.set {
		*f.of, f.set = nil, true
	}
	*f.of = append(*f.of, absolute)
	return err
}

// Append implements pflag.SliceValue.
func (f *paths) Append(path string) error { return f.Set(path) }

// Replace implements pflag.SliceValue.
func (f *paths) Replace(all []string) error {
	*f.of = all
	return nil
}

// GetSlice implements pflag.SliceValue.
func (f *paths) GetSlice() []string { return *f.of }

// usual are the folders where Terraform itself looks for providers.
func usual() []string {
	all := []string{"/usr/local/share/terraform/plugins", "/usr/share/terraform/plugins"}
	if home, err := os.UserHomeDir(); err == nil {
		all = append([]string{filepath.Join(home, ".terraform.d", "plugins")}, all...)
	}
	return all
}
