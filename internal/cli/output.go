// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

// An outputFlag is -o of a command that prints text for people by default.
type outputFlag struct {
	format  string
	formats []string
}

// newOutputFlag registers -o with formats beside the default one, of which standard names what it prints.
func newOutputFlag(cmd *cobra.Command, standard string, formats ...string) *outputFlag {
	o := &outputFlag{formats: formats}
	cmd.Flags().StringVarP(&o.format, "output", "o", "", strings.Join(formats, " or ")+" (default: "+standard+")")
	return o
}

// check refuses an unknown format, before the command does anything.
func (o *outputFlag) check(cmd *cobra.Command) error {
	if o.format == "" || slices.Contains(o.formats, o.format) {
		return nil
	}
	return usagef(cmd, "unknown output %q; use %s", o.format, strings.Join(o.formats, " or "))
}

// print writes a value in the chosen format. other writes it in the default format, or in one that is neither JSON nor YAML.
func (o *outputFlag) print(w io.Writer, value any, other func(io.Writer, string) error) error {
	switch o.format {
	case "json":
		return inspect.WriteJSON(w, value)
	case "yaml":
		content, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	}
	return other(w, o.format)
}

// printTable writes rows in columns.
func printTable(w io.Writer, rows ...[]any) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		line := strings.TrimSuffix(strings.Repeat("%v\t", len(row)), "\t") + "\n"
		fmt.Fprintf(table, line, row...)
	}
	return table.Flush()
}
