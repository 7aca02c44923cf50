// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaks lists managed resources that a person has to look after: those whose external resource may be unknown or useless, and
// those whose claim is gone.
package leaks

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

// A description describes an object, unless it returns false.
type description[T any] func(inspect.Kind, *unstructured.Unstructured) (T, bool)

// listManaged makes cmd list managed resources as prepare has each described, and then what further finds, if it is not nil. The error of
// further is returned after the list is printed.
func listManaged[T any](cmd *cobra.Command, std command.Streams, folder *datadir.Flag, access *datadir.Access, open inspect.Opener,
	prepare func(context.Context, *inspect.Cluster) (description[T], error), further func(context.Context) ([]T, error),
	printTable func(io.Writer, []T) error) {
	output := command.NewOutput(cmd, "a table", "json", "yaml")
	access.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cluster, _, err := open(folder, *access)
		if err != nil {
			return err
		}
		describe, err := prepare(cmd.Context(), cluster)
		if err != nil {
			return err
		}
		listed := []T{} // in JSON, none is an empty list
		err = cluster.EachOf(cmd.Context(), inspect.RoleManaged, func(kind inspect.Kind, o *unstructured.Unstructured) {
			if one, ok := describe(kind, o); ok {
				listed = append(listed, one)
			}
		})
		if err != nil {
			return err
		}
		var incomplete error
		if further != nil {
			var more []T
			more, incomplete = further(cmd.Context())
			listed = append(listed, more...)
		}
		return cmp.Or(output.Print(std.Out, listed, func(w io.Writer, _ string) error { return printTable(w, listed) }), incomplete)
	}
}
