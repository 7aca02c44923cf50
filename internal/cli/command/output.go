// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// An Output is the flag -o of a command that prints text for people by default.
type Output struct {
	format  string
	formats []string
}

// NewOutput registers -o with the formats beside the default one, which standard describes.
func NewOutput(cmd *cobra.Command, standard string, formats ...string) *Output {
	o := &Output{formats: formats}
	cmd.Flags().StringVarP(&o.format, "output", "o", "", strings.Join(formats, " or ")+" (default: "+standard+")")
	return o
}

// Check refuses an unknown format, before the command does anything.
func (o *Output) Check(cmd *cobra.Command) error {
	if o.format == "" || slices.Contains(o.formats, o.format) {
		return nil
	}
	return Usagef(cmd, "unknown output %q; use %s", o.format, strings.Join(o.formats, " or "))
}

// Print writes a value in the chosen format. other writes it in the default format, or in one that is neither JSON nor YAML.
func (o *Output) Print(w io.Writer, value any, other func(io.Writer, string) error) error {
	switch o.format {
	case "json":
		return WriteJSON(w, value)
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

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// PrintTable writes rows in columns.
func PrintTable(w io.Writer, rows ...[]any) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		line := strings.TrimSuffix(strings.Repeat("%v\t", len(row)), "\t") + "\n"
		fmt.Fprintf(table, line, row...)
	}
	return table.Flush()
}
