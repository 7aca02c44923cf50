// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"slices"
)

// A Violation is one thing that the ledger and the tests do not agree on. While there is one, the books are not in order.
type Violation struct {
	Kind  string // what is wrong and what to do, shown once for all of a kind
	About string // the item, test or package
}

const (
	brokenPackage  = "did not build or broke off; its tests count for nothing until `go test` runs it to the end"
	unknownID      = "in the names of tests, but not in the contract; correct the names"
	openButPassing = "marked open, but tests that name them pass; run `go run ./internal/contract/cmd --update`"
	provenWithout  = "marked proven, but no passing test names them; name the test that proves them, or mark them open"
	failingTest    = "not open, but a test that names them, or the decisions that replace them, fails; mend it"
)

// A Report is the outcome of a check.
type Report struct {
	Items      []Item
	Violations []Violation
}

// An Item is an entry of the ledger with what the tests say about it.
type Item struct {
	Entry
	// Holds tells whether the item counts: proven and no failing test, superseded by a decision that is proven, or
	// documentation.
	Holds bool
	// Tests name the item itself, or, for a superseded one, the decisions that replace it.
	Tests []Test
}

// Holding returns how many items count.
func (r Report) Holding() int {
	var n int
	for _, item := range r.Items {
		if item.Holds {
			n++
		}
	}
	return n
}

// Check holds the ledger against the results of all tests, or of some when partial; then a proven item that none of them
// names does not count, but is no violation either.
func Check(l *Ledger, r *Results, partial bool) Report {
	var report Report
	for _, name := range r.Broken {
		report.Violations = append(report.Violations, Violation{brokenPackage, name})
	}
	byID := r.byID()
	report.Violations = append(report.Violations, unknownIDs(l, byID)...)
	for _, e := range l.Entries {
		found := byID[e.ID]
		for _, decision := range e.decisions() {
			found = append(found, byID[decision]...)
		}
		item := Item{Entry: e, Tests: found, Holds: holds(e, found)}
		report.Items = append(report.Items, item)
		if kind := violation(e, found, partial); kind != "" {
			report.Violations = append(report.Violations, Violation{kind, item.about()})
		}
	}
	return report
}

func holds(e Entry, found tests) bool {
	switch e.Status {
	case Proven, Superseded:
		return found.proves()
	case Documentation:
		return len(found.failing()) == 0
	}
	return false
}

func violation(e Entry, found tests, partial bool) string {
	switch {
	case e.Status == Open && found.proves():
		return openButPassing
	case e.Status == Open:
		return ""
	case len(found.failing()) > 0:
		return failingTest
	case e.Status == Proven && len(found) == 0 && !partial:
		return provenWithout
	}
	return ""
}

// about is the line that a violation shows for the item.
func (i Item) about() string {
	text := fmt.Sprintf("%s %s", i.ID, i.Title)
	if failing := tests(i.Tests).failing(); len(failing) > 0 {
		return text + "\n" + failing.list()
	}
	return text
}

func unknownIDs(l *Ledger, byID map[ID]tests) []Violation {
	known := map[ID]bool{}
	for _, e := range l.Entries {
		known[e.ID] = true
	}
	var unknown []ID
	for id := range byID {
		if !known[id] && !id.known() {
			unknown = append(unknown, id)
		}
	}
	slices.SortFunc(unknown, compareIDs)
	var found []Violation
	for _, id := range unknown {
		found = append(found, Violation{unknownID, id.String() + "\n" + byID[id].list()})
	}
	return found
}
