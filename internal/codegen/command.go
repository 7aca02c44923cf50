// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"context"
	"fmt"
	"io"
)

// Command is what `bowline generate` does: it writes what belongs into the folders and says which files it changed, or,
// with check, writes nothing and fails if there are any.
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
