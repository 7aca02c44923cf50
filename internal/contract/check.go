// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"fmt"
	"io"
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
