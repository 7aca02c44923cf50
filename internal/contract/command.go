// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

const usage = `Usage: contract [flags] [package ...]

Runs the tests of the packages (default ./...) and holds what passes against the ledger of the contract.
With packages, a proven id that their tests do not name is not counted, but no violation.

`

// options is what the command line says.
type options struct {
	ledger, from, json string
	list               *ID
	update             bool
	packages           []string
}

func parseOptions(args []string, stdout io.Writer) (options, error) {
	var o options
	var help strings.Builder // what flag also writes next to an error
	flags := flag.NewFlagSet("contract", flag.ContinueOnError)
	flags.SetOutput(&help)
	flags.Usage = func() {
		fmt.Fprint(&help, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.ledger, "ledger", "internal/contract/ledger.tsv", "`file` of the ledger")
	flags.StringVar(&o.from, "from", "", "read what 'go test -json' wrote to this `file` instead of running tests")
	flags.Func("list", "only print the tests that name this `id`", func(word string) error {
		id, ok := parseID(word)
		if !ok {
			return errors.New("ids look like R82")
		}
		o.list = &id
		return nil
	})
	flags.StringVar(&o.json, "json", "", "write the map from ids to tests to this `file`")
	flags.BoolVar(&o.update, "update", false, "turn open ids that tests prove into proven ones, in the ledger")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, help.String())
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w (--help shows the flags)", err)
	}
	o.packages = flags.Args()
	if o.from != "" && len(o.packages) > 0 {
		return o, errors.New("--from reads a file and runs no tests: leave the packages out")
	}
	return o, nil
}

// Main is the command. It returns the exit code: 0 when the books are in order, 1 when there are violations, 2 when the
// check could not be made.
func Main(args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var inOrder bool
	if err == nil {
		inOrder, err = o.run(stdout, stderr)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "contract:", err)
		return 2
	case !inOrder:
		return 1
	}
	return 0
}

// run tells whether the books are in order.
func (o options) run(stdout, stderr io.Writer) (bool, error) {
	ledger, err := ReadLedger(o.ledger)
	if err != nil {
		return false, err
	}
	results, err := o.results(stderr)
	if err != nil {
		return false, err
	}
	if o.list != nil {
		return printTests(stdout, results, *o.list)
	}
	if o.update {
		if err := raise(o.ledger, ledger, results, stdout); err != nil {
			return false, err
		}
	}
	report := Check(ledger, results, len(o.packages) > 0)
	if o.json != "" {
		text, err := report.JSON()
		if err == nil {
			err = os.WriteFile(o.json, text, 0o644)
		}
		if err != nil {
			return false, fmt.Errorf("writing the map: %w", err)
		}
	}
	return len(report.Violations) == 0, report.Print(stdout)
}

func (o options) results(stderr io.Writer) (*Results, error) {
	if o.from == "" {
		return runTests(o.packages, stderr)
	}
	file, err := os.Open(o.from)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	return ReadResults(file, func(string) {})
}

// runTests runs the tests and says which packages are done, since all of them take minutes.
func runTests(packages []string, stderr io.Writer) (*Results, error) {
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	cmd := exec.Command("go", append([]string{"test", "-json", "-timeout=25m"}, packages...)...)
	cmd.Stderr = stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("running go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running go test: %w", err)
	}
	results, bad := ReadResults(events, func(line string) { fmt.Fprintln(stderr, line) })
	exit := cmd.Wait()
	if bad != nil {
		return nil, fmt.Errorf("running go test: %w", errors.Join(exit, bad))
	}
	// Failing tests make go exit with 1, and the results hold them; without any, go itself has broken off.
	if exit != nil && len(results.Broken) == 0 && len(tests(results.Tests).failing()) == 0 {
		return nil, fmt.Errorf("running go test: %w", exit)
	}
	return results, nil
}

func printTests(stdout io.Writer, r *Results, id ID) (bool, error) {
	found := r.byID()[id]
	if len(found) == 0 {
		_, err := fmt.Fprintf(stdout, "no test names %s\n", id)
		return false, err
	}
	_, err := fmt.Fprintln(stdout, found.list())
	return found.proves(), err
}

func raise(path string, l *Ledger, r *Results, stdout io.Writer) error {
	raised := l.Raise(r)
	for _, e := range raised {
		fmt.Fprintf(stdout, "%s is proven now: %s\n", e.ID, e.Title)
	}
	fmt.Fprintf(stdout, "%d ids raised from open to proven\n\n", len(raised))
	if len(raised) == 0 {
		return nil
	}
	if err := os.WriteFile(path, []byte(l.Text()), 0o644); err != nil {
		return fmt.Errorf("writing the ledger: %w", err)
	}
	return nil
}
