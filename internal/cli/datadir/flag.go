// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline/controlplane"
)

// Variable is the environment variable that names the data folder where the flag does not.
const Variable = "BOWLINE_DATA_DIR"

// Flag is --data-dir, which every command that uses one server understands.
type Flag struct{ Value string }

// AddFlags registers the flag.
func (f *Flag) AddFlags(flags *pflag.FlagSet) {
	shown := defaultDir()
	if shown == "" {
		shown = "none"
	}
	flags.StringVar(&f.Value, "data-dir", "", fmt.Sprintf("folder that holds all state (default $%s, else %s)", Variable, shown))
}

// Server returns the folder for a server to use: the flag, else the environment, else the default of this user.
func (f *Flag) Server() (string, error) {
	for _, dir := range []string{f.Value, os.Getenv(Variable), defaultDir()} {
		if dir != "" {
			return absolute(dir)
		}
	}
	return "", errors.New("this user has no home folder; choose a folder for the state with --data-dir")
}

// Client returns the folder of the server that a client means: the flag, else the environment, else that of the only running
// server of this user, else the default.
func (f *Flag) Client() (string, error) {
	for _, dir := range []string{f.Value, os.Getenv(Variable)} {
		if dir != "" {
			return absolute(dir)
		}
	}
	switch running := runningServers(); len(running) {
	case 0:
		return f.Server()
	case 1:
		return running[0], nil
	default:
		return "", fmt.Errorf("several servers run; choose one:\n  --data-dir %s", strings.Join(running, "\n  --data-dir "))
	}
}

// Running is Client for commands that need a server: if none runs, the error says how to start it.
func (f *Flag) Running() (string, error) {
	dir, err := f.Client()
	if err != nil {
		return "", err
	}
	if _, ok := controlplane.Holder(dir); ok {
		return dir, nil
	}
	text := fmt.Sprintf("no server runs on %s; start one with: bowline up --detach%s", dir, Argument(dir))
	if others := runningServers(); len(others) > 0 {
		text += fmt.Sprintf("\nor choose a running one:\n  --data-dir %s", strings.Join(others, "\n  --data-dir "))
	}
	return "", errors.New(text)
}

// defaultDir is empty for a user without a home folder.
func defaultDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/bowline"
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".bowline")
}

func absolute(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding data folder %s: %w", dir, err)
	}
	return path, nil
}

// Argument returns the end of a command line that chooses this folder; empty for the default.
func Argument(dir string) string {
	if dir == defaultDir() {
		return ""
	}
	return " --data-dir " + ShellQuote(dir)
}

// ShellQuote quotes a word so that a shell passes it on unchanged.
func ShellQuote(word string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+:@%,=", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
