// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command has what all commands share: streams, checks of arguments, errors of usage, and output formats.
package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// A UsageError reports a wrong command line.
type UsageError struct {
	Command string // whose help explains the usage
	Err     error
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a UsageError of a command.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return &UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf(format, args...)}
}

// NoArgs refuses arguments that are not flags.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usagef(cmd, "%s takes no argument, got %q", cmd.Name(), args[0])
}

// Subcommand refuses a word that is no subcommand, and suggests similar ones.
func Subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // letters; cobra sets it only for its own checks
	text := fmt.Sprintf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return Usagef(cmd, "%s", text)
}

// ShowHelp runs a command that only groups others.
func ShowHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// An Output is the flag -o of a command that prints text for people by default.
type Output struct {
	format  string
	formats []string
}

// NewOutput registers -o with the formats beside the default one, which standard describes.
func NewOutput(cmd *cobra.Command, standard string, formats ...string) *Output {
	o := &Output{formats: formats}
	cmd.PreRunE = o.check
	cmd.Flags().StringVarP(&o.format, "output", "o", "", strings.Join(formats, " or ")+" (default: "+standard+")")
	return o
}

func (o *Output) check(cmd *cobra.Command, _ []string) error {
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

// JoinFirst joins some errors, and says how many it left out.
func JoinFirst(most int, errs []error) error {
	if more := len(errs) - most; more > 0 {
		errs = append(errs[:most:most], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// WriteJSON writes indented JSON.
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
