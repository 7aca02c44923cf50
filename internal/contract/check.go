// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// A Violation is one disagreement between the ledger and the tests.
type Violation struct {
	Kind  string // what is wrong and what to do; printed once for all of a kind
	About string // the id with its tests, or the package
}

const (
	brokenPackage  = "did not build or broke off; its tests do not count until `go test` completes it"
	unknownID      = "in names of tests, but not in the ledger; correct the names"
	openButPassing = "marked open, but their tests pass; mark them proven in ledger.tsv and docs/contract.md"
	provenWithout  = "marked proven, but no passing test names them; name the test that proves them, or mark them open"
	failingTest    = "not open, but a test that names them, or the decision that replaces them, fails; fix it"
)

// A Report is the outcome of a check.
type Report struct {
	Items      []Item
	Violations []Violation
}

// An Item is an entry of the ledger with its tests, or those of the decisions that replace it.
type Item struct {
	Entry
	// Holds is true if the item is proven and no test fails, superseded by a proven decision, or documentation.
	Holds bool
	Tests []Test
}

// Check compares the ledger with the results of all tests, or of some if partial: then a proven item without a test does not
// hold, but is no violation.
func Check(ledger []Entry, r *Results, partial bool) Report {
	var report Report
	for _, name := range r.Broken {
		report.Violations = append(report.Violations, Violation{brokenPackage, name})
	}
	byID := r.byID()
	known := map[ID]bool{}
	for _, e := range ledger {
		known[e.ID] = true
		found := byID[e.ID]
		for _, decision := range e.decisions() {
			found = append(found, byID[decision]...)
		}
		holds := found.prove() && e.Status != Open || e.Status == Documentation && !found.fail()
		report.Items = append(report.Items, Item{Entry: e, Holds: holds, Tests: found})
		if kind := violation(e, found, partial); kind != "" {
			report.Violations = append(report.Violations, Violation{kind, e.ID.String() + "\n" + found.String()})
		}
	}
	for id, found := range byID {
		if !known[id] {
			report.Violations = append(report.Violations, Violation{unknownID, id.String() + "\n" + found.String()})
		}
	}
	slices.SortFunc(report.Violations, func(a, b Violation) int { return strings.Compare(a.Kind+a.About, b.Kind+b.About) })
	return report
}

func violation(e Entry, found tests, partial bool) string {
	switch {
	case e.Status == Open && found.prove():
		return openButPassing
	case e.Status == Open:
		return ""
	case found.fail():
		return failingTest
	case e.Status == Proven && len(found) == 0 && !partial:
		return provenWithout
	}
	return ""
}

// Holding returns how many items hold.
func (r Report) Holding() int {
	var n int
	for _, item := range r.Items {
		if item.Holds {
			n++
		}
	}
	return n
}

// Print writes a table of sections, the violations and, as the last line, the count.
func (r Report) Print(w io.Writer) error {
	var text strings.Builder
	if err := r.table(&text); err != nil {
		return err
	}
	var kind string
	for _, v := range r.Violations {
		if v.Kind != kind {
			kind = v.Kind
			fmt.Fprintf(&text, "\nVIOLATION: %s:\n", kind)
		}
		fmt.Fprintf(&text, "  %s\n", strings.TrimRight(v.About, "\n"))
	}
	fmt.Fprintf(&text, "\ncontract: %d of %d\n", r.Holding(), len(r.Items))
	_, err := io.WriteString(w, text.String())
	return err
}

func (r Report) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "section\tproven\tsuperseded\tdocumentation\topen\tholds")
	for rest := r.Items; len(rest) > 0; {
		section := rest[0].Section
		count := map[Status]int{}
		var holding, all int
		for ; len(rest) > 0 && rest[0].Section == section; rest = rest[1:] {
			count[rest[0].Status]++
			all++
			if rest[0].Holds {
				holding++
			}
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d of %d\n", section,
			count[Proven], count[Superseded], count[Documentation], count[Open], holding, all)
	}
	return t.Flush()
}
