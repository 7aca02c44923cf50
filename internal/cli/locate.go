// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

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

const dataDirVariable = "BOWLINE_DATA_DIR"

// dataDirFlag is --data-dir, which every command that has to do with one server understands.
type dataDirFlag struct{ value string }

func (f *dataDirFlag) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.value, "data-dir", "", fmt.Sprintf(
		"folder that holds all state (default $%s, else %s)", dataDirVariable, shown(defaultDataDir())))
}

// own returns the folder that a server is to use: the flag, else the environment, else the default of this user.
func (f *dataDirFlag) own() (string, error) {
	for _, dir := range []string{f.value, os.Getenv(dataDirVariable), defaultDataDir()} {
		if dir != "" {
			return absolute(dir)
		}
	}
	return "", errors.New("this user has no home folder; say where to keep the state with --data-dir")
}

// client returns the folder of the server that a client means: the flag, else the environment, else that of the only
// server of this user that runs, else the default.
func (f *dataDirFlag) client() (string, error) {
	for _, dir := range []string{f.value, os.Getenv(dataDirVariable)} {
		if dir != "" {
			return absolute(dir)
		}
	}
	switch running := runningServers(); len(running) {
	case 0:
		return f.own()
	case 1:
		return running[0], nil
	default:
		return "", fmt.Errorf("several servers run; choose one:\n  --data-dir %s", strings.Join(running, "\n  --data-dir "))
	}
}

// running is client for commands that need a server: without one the error says how to start it.
func (f *dataDirFlag) running() (string, error) {
	dir, err := f.client()
	if err != nil {
		return "", err
	}
	if _, ok := controlplane.Holder(dir); ok {
		return dir, nil
	}
	text := fmt.Sprintf("no server runs on %s; start one with: bowline up --detach%s", dir, dataDirArgument(dir))
	if others := runningServers(); len(others) > 0 {
		text += fmt.Sprintf("\nor choose one that runs:\n  --data-dir %s", strings.Join(others, "\n  --data-dir "))
	}
	return "", errors.New(text)
}

// defaultDataDir is empty for a user without a home folder.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/bowline"
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".bowline")
}

func shown(dir string) string {
	if dir == "" {
		return "none"
	}
	return dir
}

func absolute(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding data folder %s: %w", dir, err)
	}
	return path, nil
}

// dataDirArgument is what to add to a command line that shall mean this folder; empty for the default.
func dataDirArgument(dir string) string {
	if dir == defaultDataDir() {
		return ""
	}
	return " --data-dir " + shellQuote(dir)
}

// shellQuote returns a word that a shell takes as it is.
func shellQuote(word string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+:@%,=", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
