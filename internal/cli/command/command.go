// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command has what all commands share: streams, checks of arguments, errors of usage, and output formats.
package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
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
