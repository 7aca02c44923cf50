// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

const usage = `Usage: go test -json ./... | contract [flags]

Compares the results of tests with the ledger of the contract.

`

// Main is the command: it reads the output of `go test -json`. It returns the exit code: 0 without violations, 1 with
// violations, 2 if the check could not be made.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("contract", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	path := flags.String("ledger", "internal/contract/ledger.tsv", "`file` of the ledger")
	partial := flags.Bool("partial", false, "the results are of some packages only: a proven id without a test is no violation")
	var list id
	flags.Func("list", "only print the tests that name this `id`", func(word string) error {
		if !onePattern.MatchString(word) {
			return errors.New("ids look like R82")
		}
		list = id(word)
		return nil
	})
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	fine, err := run(*path, list, *partial, stdin, stdout, stderr)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "contract:", err)
		return 2
	case !fine:
		return 1
	}
	return 0
}

func run(path string, list id, partial bool, stdin io.Reader, stdout, stderr io.Writer) (fine bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("reading the ledger (run from the root of the repository, or give -ledger): %w", err)
	}
	ledger, err := parseLedger(string(text))
	if err != nil {
		return false, fmt.Errorf("reading the ledger %s: %w", path, err)
	}
	results, err := readResults(stdin, func(line string) { fmt.Fprintln(stderr, line) })
	if err != nil {
		return false, err
	}
	if list != "" {
		found := results.byID()[list]
		fmt.Fprintf(stdout, "%d tests name %s\n%s", len(found), list, found)
		return found.prove(), nil
	}
	out := check(ledger, results, partial)
	return len(out.violations) == 0, out.print(stdout)
}
