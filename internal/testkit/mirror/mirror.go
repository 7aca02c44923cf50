// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror builds the Terraform providers of tests, whose sources are the module test/terraform/providers, and lays them out as a
// filesystem mirror of Terraform:
//
//	registry.terraform.io/bowline-dev/reef/1.0.0/linux_amd64/terraform-provider-reef_v1.0.0
//
// The providers are reef (protocol 6) and shoal (protocol 5), whose faults tests inject, favouritecloud, and hashicorp/time. To build them
// for the first time takes a minute; then it takes a second in each test binary.
package mirror

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit"
)

// providers are the addresses and versions by name.
var providers = map[string]struct{ address, version string }{
	"reef":           {"registry.terraform.io/bowline-dev/reef", "1.0.0"},
	"shoal":          {"registry.terraform.io/bowline-dev/shoal", "1.0.0"},
	"favouritecloud": {"registry.terraform.io/bowline-dev/favouritecloud", "1.0.0"},
	"time":           {"registry.terraform.io/hashicorp/time", "0.14.2"},
}

var build = sync.OnceValues(Build)

// Providers returns the folder of the mirror.
func Providers(t testing.TB) (dir string) {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Program returns the path of the program of a provider: reef, shoal, favouritecloud or time.
func Program(t testing.TB, name string) string {
	t.Helper()
	if _, known := providers[name]; !known {
		t.Fatalf("there is no provider %q", name)
	}
	return program(Providers(t), name)
}

func program(dir, name string) string {
	p := providers[name]
	return filepath.Join(dir, filepath.FromSlash(p.address), p.version, runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-"+name+"_v"+p.version)
}

// Build builds the programs, links them to their places in the mirror, and returns its folder. Other builds wait.
func Build() (dir string, err error) {
	const folder, sources = "bin/terraform", "test/terraform/providers"
	_, err = testkit.Build(folder, []string{sources}, func(root string) error {
		programs := filepath.Join(root, folder, "programs")
		dir = filepath.Join(root, folder, "mirror")
		if err := testkit.Run(filepath.Join(root, sources), "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", programs+"/", "./cmd/...",
			"github.com/hashicorp/terraform-provider-time"); err != nil {
			return err
		}
		for name := range providers {
			if err := link(filepath.Join(programs, "terraform-provider-"+name), program(dir, name)); err != nil {
				return err
			}
		}
		return nil
	})
	return dir, err
}

// link gives a file another name, unless it has it. A program that was built anew is another file.
func link(file, name string) error {
	want, err := os.Stat(file)
	if err != nil {
		return err
	}
	if have, err := os.Stat(name); err == nil && os.SameFile(want, have) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(file, name)
}
