// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"text/tabwriter"
)

// list shows tests, one indented line each.
func (t tests) list() string {
	var lines []string
	for _, test := range t {
		outcome := "ok"
		if !test.Passed {
			outcome = "FAIL"
		}
		lines = append(lines, fmt.Sprintf("    %-4s %s %s", outcome, path.Base(test.Package), test.Name))
	}
	return strings.Join(lines, "\n")
}

// Print writes the books for a person: a table of sections, what is not in order, what waits for a decision's test, and
// the count as the last line.
func (r Report) Print(w io.Writer) error {
	var text strings.Builder
	if err := r.table(&text); err != nil {
		return err
	}
	if waiting := r.waiting(); len(waiting) > 0 {
		fmt.Fprintf(&text, "\nSuperseded by decisions that no passing test names yet; they do not count so far:\n  %s\n",
			strings.Join(waiting, ", "))
	}
	var kind string
	for _, v := range r.violationsByKind() {
		if v.Kind != kind {
			kind = v.Kind
			fmt.Fprintf(&text, "\nVIOLATION: %s:\n", kind)
		}
		fmt.Fprintf(&text, "  %s\n", v.About)
	}
	fmt.Fprintf(&text, "\ncontract: %d of %d\n", r.Holding(), len(r.Items))
	_, err := io.WriteString(w, text.String())
	return err
}

func (r Report) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "section\tproven\tsuperseded\tdocumentation\topen\tholds")
	for _, section := range (&Ledger{Entries: r.entries()}).sections() {
		count := map[Status]int{}
		var holding, all int
		for _, item := range r.Items {
			if item.Section == section {
				count[item.Status]++
				all++
				if item.Holds {
					holding++
				}
			}
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d of %d\n", section,
			count[Proven], count[Superseded], count[Documentation], count[Open], holding, all)
	}
	return t.Flush()
}

func (r Report) entries() []Entry {
	var entries []Entry
	for _, item := range r.Items {
		entries = append(entries, item.Entry)
	}
	return entries
}

func (r Report) waiting() []string {
	var found []string
	for _, item := range r.Items {
		if item.Status == Superseded && len(item.Tests) == 0 {
			found = append(found, fmt.Sprintf("%s (%s)", item.ID, item.Note))
		}
	}
	return found
}

// violationsByKind puts the violations of a kind together, in the order in which the kinds first appear.
func (r Report) violationsByKind() []Violation {
	var kinds []string
	of := map[string][]Violation{}
	for _, v := range r.Violations {
		if of[v.Kind] == nil {
			kinds = append(kinds, v.Kind)
		}
		of[v.Kind] = append(of[v.Kind], v)
	}
	var sorted []Violation
	for _, kind := range kinds {
		sorted = append(sorted, of[kind]...)
	}
	return sorted
}

// JSON returns the map from ids to what is known about them, for other programs.
func (r Report) JSON() ([]byte, error) {
	type item struct {
		Section string `json:"section"`
		Title   string `json:"title"`
		Status  Status `json:"status"`
		Note    string `json:"note,omitempty"`
		Holds   bool   `json:"holds"`
		Tests   []Test `json:"tests,omitempty"`
	}
	items := map[ID]item{}
	for _, i := range r.Items {
		items[i.ID] = item{i.Section, i.Title, i.Status, i.Note, i.Holds, i.Tests}
	}
	text, err := json.MarshalIndent(items, "", "  ")
	return append(text, '\n'), err
}
