// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"context"
	"fmt"
	"io"
)

// Command implements `bowline generate`: it writes the generated files of the folders and prints the names of those that changed. With
// check, it writes nothing and fails if any would change.
func Command(ctx context.Context, to io.Writer, base string, check bool, folders ...string) error {
	out, err := Generate(ctx, base, folders...)
	if err != nil {
		return err
	}
	if !check {
		changed, err := out.Write()
		for _, name := range changed {
			fmt.Fprintln(to, name)
		}
		return err
	}
	differ, err := out.Differences()
	if err != nil || len(differ) == 0 {
		return err
	}
	for _, name := range differ {
		fmt.Fprintln(to, name)
	}
	return fmt.Errorf("%d generated files are not up to date: run bowline generate without --check and commit what it writes", len(differ))
}
