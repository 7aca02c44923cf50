// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract checks what the tests prove against the ledger of the contract.
//
// docs/contract.md states the contract, one sentence for each id. The ledger, ledger.tsv, has the status of each id. Which
// tests prove an id is recorded in their names only, such as "pending newer than succeeded (R82)". Check compares the ledger
// with the results of `go test -json`: a proven id needs a passing test, and an open one must have none.
//
//	make contract                                             # run all tests and check
//	go test -json ./... > F                                   # or run the tests once
//	go run ./internal/contract/cmd -list R82 < F              # and ask which tests prove an id
package contract

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// A violation is one disagreement between the ledger and the tests.
type violation struct {
	kind  string // what is wrong and what to do; printed once for all of a kind
	about string // the id with its tests, or the package
}

const (
	brokenPackage  = "did not build or broke off; its tests do not count until `go test` completes it"
	unknownID      = "in names of tests, but not in the ledger; correct the names"
	openButPassing = "marked open, but their tests pass; mark them proven in ledger.tsv and docs/contract.md"
	provenWithout  = "marked proven, but no passing test names them; name the test that proves them, or mark them open"
	failingTest    = "not open, but a test that names them, or the decision that replaces them, fails; fix it"
)

// A report is the outcome of a check: a row for each section of the ledger, in its order, and what is wrong.
type report struct {
	sections   []section
	violations []violation
}

type section struct {
	name       string
	count      map[status]int
	holds, all int
}

// check compares the ledger with the results of all tests, or of some if partial: then a proven entry without a test does not
// hold, but is no violation.
func check(ledger []entry, r *results, partial bool) report {
	var out report
	for _, name := range r.broken {
		out.violations = append(out.violations, violation{brokenPackage, name})
	}
	byID := r.byID()
	known := map[id]bool{}
	for _, e := range ledger {
		known[e.id] = true
		found := byID[e.id]
		for _, decision := range e.decisions() {
			found = append(found, byID[decision]...)
		}
		out.count(e, found)
		if kind := disagreement(e, found, partial); kind != "" {
			out.violations = append(out.violations, violation{kind, string(e.id) + "\n" + found.String()})
		}
	}
	for id, found := range byID {
		if !known[id] {
			out.violations = append(out.violations, violation{unknownID, string(id) + "\n" + found.String()})
		}
	}
	slices.SortFunc(out.violations, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.about, b.about))
	})
	return out
}

// count adds an entry to its section. It holds if it is proven and no test fails, superseded by a proven decision, or
// documentation.
func (r *report) count(e entry, found tests) {
	if n := len(r.sections); n == 0 || r.sections[n-1].name != e.section {
		r.sections = append(r.sections, section{name: e.section, count: map[status]int{}})
	}
	s := &r.sections[len(r.sections)-1]
	s.count[e.status]++
	s.all++
	if found.prove() && e.status != open || e.status == documentation && !found.fail() {
		s.holds++
	}
}

func disagreement(e entry, found tests, partial bool) string {
	switch {
	case e.status == open && found.prove():
		return openButPassing
	case e.status == open:
		return ""
	case found.fail():
		return failingTest
	case e.status == proven && len(found) == 0 && !partial:
		return provenWithout
	}
	return ""
}

// print writes a table of sections, the violations and, as the last line, the count.
func (r report) print(w io.Writer) error {
	var holds, all int
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "section\tproven\tsuperseded\tdocumentation\topen\tholds")
	for _, s := range r.sections {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d of %d\n", s.name,
			s.count[proven], s.count[superseded], s.count[documentation], s.count[open], s.holds, s.all)
		holds, all = holds+s.holds, all+s.all
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var kind string
	for _, v := range r.violations {
		if v.kind != kind {
			kind = v.kind
			fmt.Fprintf(w, "\nVIOLATION: %s:\n", kind)
		}
		fmt.Fprintf(w, "  %s\n", strings.TrimRight(v.about, "\n"))
	}
	_, err := fmt.Fprintf(w, "\ncontract: %d of %d\n", holds, all)
	return err
}

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
