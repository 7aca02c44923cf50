// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"

	"github.com/bowline-dev/bowline/pkg/terraform/mirror"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// defaultHost is that of sources without one.
const defaultHost = "registry.terraform.io"

// A binary is that of a provider.
type binary struct {
	path    string
	version string // empty where nothing tells it
}

const platform = runtime.GOOS + "_" + runtime.GOARCH

// errAbsent reports that no folder has a version that satisfies a constraint.
var errAbsent = errors.New("no version satisfies it")

// find returns the binary that a spec names, in the folders. Nothing outside of them is run: who writes TerraformProviders is no administrator
// of the machine. What no folder has is downloaded from the network mirror, if there is one.
func (o *Options) find(spec v1alpha1.TerraformProviderSpec, downloads *mirror.Downloads) (found binary, err error) {
	if spec.Path != "" {
		found, err = findPath(spec.Path, o.Folders) // not in that of downloads, where one in progress is not checked yet
	} else if found, err = findSource(spec.Source, spec.Version, o.all()); errors.Is(err, errAbsent) && downloads != nil {
		if err := downloads.Fetch(packageOf(spec)); err != nil {
			return found, err
		}
		found, err = findSource(spec.Source, spec.Version, o.all())
	}
	return found, err
}

// lastUsed returns the binary of the version that was used last, if the spec permits it, and it is not that of another binary.
func (o *Options) lastUsed(tp *v1alpha1.TerraformProvider, than binary) (last binary, ok bool) {
	if tp.Spec.Source == "" || tp.Status.Version == "" || tp.Status.Version == than.version {
		return last, false
	}
	last, err := findSource(tp.Spec.Source, tp.Spec.Version+", = "+tp.Status.Version, o.all())
	return last, err == nil
}

// all returns the folders, with that of downloads.
func (o *Options) all() []string {
	if o.Mirror.URL == "" {
		return o.Folders
	}
	return append(slices.Clone(o.Folders), o.Mirror.Folder)
}

func packageOf(spec v1alpha1.TerraformProviderSpec) mirror.Package {
	return mirror.Package{Source: strings.Join(address(spec.Source), "/"), Constraint: spec.Version, Platform: platform, Checksums: spec.Checksums,
		Check: func(program string) error { return check(program, spec.Checksums, checksumsOf) }}
}

func findPath(name string, folders []string) (binary, error) {
	for _, folder := range folders {
		path := name
		if !filepath.IsAbs(name) {
			path = filepath.Join(folder, name)
		}
		if real, ok := inside(path, folder); ok {
			return binary{path: real}, nil
		}
	}
	return binary{}, fmt.Errorf("there is no file %q in the folders of Terraform providers (%s): put the binary there, or correct spec.path",
		name, strings.Join(folders, ", "))
}

// inside returns a file without links in its path, and false if it is none in a folder.
func inside(path, folder string) (real string, ok bool) {
	real, err := filepath.EvalSymlinks(path)
	root, failed := filepath.EvalSymlinks(folder)
	if err != nil || failed != nil {
		return "", false
	}
	below, err := filepath.Rel(root, real)
	info, failed := os.Stat(real)
	return real, err == nil && failed == nil && filepath.IsLocal(below) && info.Mode().IsRegular()
}

// findSource looks for the newest version that satisfies a constraint in filesystem mirrors, each with unpacked packages:
// HOST/NAMESPACE/TYPE/VERSION/OS_ARCH.
func findSource(source, constraint string, folders []string) (newest binary, err error) {
	wanted, err := version.NewConstraint(constraint)
	if err != nil {
		return newest, fmt.Errorf("spec.version %q is no constraint of versions: use one such as \"~> 5.0\" or \"5.100.0\"", constraint)
	}
	parts := address(source)
	var have version.Collection
	for _, folder := range folders {
		base := filepath.Join(append([]string{folder}, parts...)...)
		entries, _ := os.ReadDir(base) // a folder without the provider
		for _, entry := range entries {
			v, err := version.NewVersion(entry.Name())
			if err != nil {
				continue
			}
			files, _ := filepath.Glob(filepath.Join(base, entry.Name(), platform, "terraform-provider-"+parts[2]+"*"))
			if len(files) == 0 {
				continue
			}
			file, ok := inside(files[0], folder)
			if !ok {
				continue
			}
			have = append(have, v)
			if wanted.Check(v) && (newest.path == "" || v.GreaterThan(version.Must(version.NewVersion(newest.version)))) {
				newest = binary{path: file, version: entry.Name()}
			}
		}
	}
	if newest.path != "" {
		return newest, nil
	}
	slices.SortFunc(have, func(a, b *version.Version) int { return a.Compare(b) })
	what := "there is none for " + platform
	if len(have) > 0 {
		what = fmt.Sprintf("there is %v", have)
	}
	return newest, fmt.Errorf("%s %q: %w in the folders of Terraform providers (%s): %s. Put its unpacked package into "+
		"FOLDER/%s/VERSION/%s, as `terraform providers mirror` and unzip do, start the controllers with --terraform-mirror URL, or correct spec.version",
		source, constraint, errAbsent, strings.Join(folders, ", "), what, strings.Join(parts, "/"), platform)
}

// address returns host, namespace and type.
func address(source string) []string {
	parts := strings.Split(source, "/")
	if len(parts) == 2 {
		parts = append([]string{defaultHost}, parts...)
	}
	return parts
}

// check fails for a binary that has none of the checksums, if there are any.
func check(path string, checksums []string, hash func(string) ([]string, error)) error {
	if len(checksums) == 0 {
		return nil
	}
	sums, err := hash(path)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(sums, func(sum string) bool { return slices.Contains(checksums, sum) }) {
		return fmt.Errorf("%s has the checksums %s, and spec.checksums has other ones: install the release that they are for, or correct them",
			filepath.Base(path), strings.Join(sums, " and "))
	}
	return nil
}
