// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Status says why an item counts, or does not yet.
type Status string

const (
	// Proven items have passing tests that name them.
	Proven Status = "proven"
	// Superseded items are replaced by decisions, which the note names; the decisions' tests count for them.
	Superseded Status = "superseded"
	// Documentation items have nothing to test by nature; the note says why.
	Documentation Status = "documentation"
	// Open items are not built, or not proven, yet.
	Open Status = "open"
)

const longestTitle = 90 // characters

// An Entry is one line of the ledger.
type Entry struct {
	ID      ID
	Status  Status
	Title   string
	Note    string // the decisions of a superseded item, the reason of a documentation item
	Section string

	line int // index into Ledger.lines
}

// decisions returns what supersedes the entry.
func (e Entry) decisions() []ID {
	var found []ID
	if e.Status == Superseded {
		for word := range strings.FieldsSeq(e.Note) {
			if id, ok := parseID(word); ok && id.decision() {
				found = append(found, id)
			}
		}
	}
	return found
}

// A Ledger is the list of all items, in the order of the file.
type Ledger struct {
	Entries []Entry

	lines []string
}

// ReadLedger reads and checks the ledger at path.
func ReadLedger(path string) (*Ledger, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger (run from the root of the repository, or give --ledger): %w", err)
	}
	l, err := ParseLedger(string(text))
	if err != nil {
		return nil, fmt.Errorf("reading the ledger %s: %w", path, err)
	}
	return l, nil
}

// ParseLedger reads a ledger and returns everything that is wrong with it at once, with line numbers. Lines are
// comments (#), sections ([4.1 All controllers]) or entries: id, status, title and, where the status wants one, a note,
// separated by tabs and sorted within their section.
func ParseLedger(text string) (*Ledger, error) {
	l := &Ledger{lines: strings.Split(text, "\n")}
	var section string
	var wrong []error
	seen := map[ID]int{}
	for i, line := range l.lines {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = line[1 : len(line)-1]
			continue
		}
		e, err := parseEntry(line)
		e.Section, e.line = section, i
		if err == nil {
			err = l.place(e, seen)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", i+1, err))
			continue
		}
		seen[e.ID] = i + 1
		l.Entries = append(l.Entries, e)
	}
	return l, errors.Join(wrong...)
}

// place says why an entry cannot come next.
func (l *Ledger) place(e Entry, seen map[ID]int) error {
	if e.Section == "" {
		return fmt.Errorf("%s comes before the first [section]", e.ID)
	}
	if first, twice := seen[e.ID]; twice {
		return fmt.Errorf("%s is on line %d already", e.ID, first)
	}
	if n := len(l.Entries); n > 0 && l.Entries[n-1].Section == e.Section && compareIDs(l.Entries[n-1].ID, e.ID) > 0 {
		return fmt.Errorf("%s comes after %s; sort the section by number", e.ID, l.Entries[n-1].ID)
	}
	return nil
}

func parseEntry(line string) (Entry, error) {
	fields := strings.Split(line, "\t")
	if len(fields) < 3 || len(fields) > 4 {
		return Entry{}, fmt.Errorf("%d fields instead of id, status, title and perhaps a note, separated by tabs", len(fields))
	}
	id, ok := parseID(fields[0])
	if !ok || !id.counted() {
		return Entry{}, fmt.Errorf("%q is not an id of K, A, R, P or T", fields[0])
	}
	e := Entry{ID: id, Status: Status(fields[1]), Title: fields[2]}
	if len(fields) == 4 {
		e.Note = fields[3]
	}
	if n := utf8.RuneCountInString(e.Title); n == 0 || n > longestTitle {
		return e, fmt.Errorf("the title of %s has %d characters; it needs 1 to %d", id, n, longestTitle)
	}
	return e, e.checkNote()
}

// checkNote demands a note exactly where the status makes no sense without.
func (e Entry) checkNote() error {
	switch e.Status {
	case Proven, Open:
		if e.Note != "" {
			return fmt.Errorf("%s is %s, which takes no note", e.ID, e.Status)
		}
	case Documentation:
		if e.Note == "" {
			return fmt.Errorf("%s is documentation; say in a note why nothing can be tested", e.ID)
		}
	case Superseded:
		if words := strings.Fields(e.Note); len(words) == 0 || len(e.decisions()) != len(words) {
			return fmt.Errorf("%s is superseded; its note must name decisions only, such as \"N5\" or \"N12 D9\"", e.ID)
		}
	default:
		return fmt.Errorf("%s has status %q instead of proven, superseded, documentation or open", e.ID, e.Status)
	}
	return nil
}

// Raise turns the open entries that the results prove into proven ones and returns them. It never lowers a status: to
// give up a promise takes a person.
func (l *Ledger) Raise(r *Results) []Entry {
	var raised []Entry
	tests := r.byID()
	for i, e := range l.Entries {
		if e.Status == Open && tests[e.ID].proves() {
			l.Entries[i].Status = Proven
			l.lines[e.line] = strings.Join([]string{e.ID.String(), string(Proven), e.Title}, "\t")
			raised = append(raised, l.Entries[i])
		}
	}
	return raised
}

// Text returns the ledger as it belongs into its file.
func (l *Ledger) Text() string { return strings.Join(l.lines, "\n") }

// sections returns the sections in the order of the file.
func (l *Ledger) sections() []string {
	var names []string
	for _, e := range l.Entries {
		if !slices.Contains(names, e.Section) {
			names = append(names, e.Section)
		}
	}
	return names
}
