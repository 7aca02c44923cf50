// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// An ID names a sentence of the contract: a rule on kinds (K), an item of the Go API (A), behaviour (R), an API pattern (P),
// tooling (T), a decision (N), a resolved question (D) or an extension (O).
type ID struct {
	Letter string
	Number int
}

func (id ID) String() string { return id.Letter + strconv.Itoa(id.Number) }

func compareIDs(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Letter, b.Letter), cmp.Compare(a.Number, b.Number))
}

var (
	idPattern  = regexp.MustCompile(`[KARPTNDO][1-9][0-9]*`)
	onePattern = regexp.MustCompile(`^` + idPattern.String() + `$`)
)

// parseID reads a whole word as an id.
func parseID(word string) (ID, bool) {
	if !onePattern.MatchString(word) {
		return ID{}, false
	}
	number, err := strconv.Atoi(word[1:])
	return ID{word[:1], number}, err == nil
}

// idsIn returns the ids in the name of a test, each once: every word that is an id, as in TestPending_R82 or
// "pending newer than succeeded (R82)". "R86's advice" claims nothing.
func idsIn(test string) []ID {
	words := strings.FieldsFunc(test, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
	var found []ID
	for _, word := range words {
		if id, ok := parseID(word); ok {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, compareIDs)
	return slices.Compact(found)
}

// A Status is the state of an id.
type Status string

const (
	// Proven ids have a passing test that names them.
	Proven Status = "proven"
	// Superseded ids are replaced by the decisions in their note, whose tests count for them.
	Superseded Status = "superseded"
	// Documentation ids cannot be tested; the note gives the reason.
	Documentation Status = "documentation"
	// Open ids are not built or not proven yet.
	Open Status = "open"
)

// An Entry is one line of the ledger.
type Entry struct {
	ID      ID
	Status  Status
	Note    string
	Section string
}

// decisions returns the ids that replace a superseded entry.
func (e Entry) decisions() []ID {
	var found []ID
	for word := range strings.FieldsSeq(e.Note) {
		if id, ok := parseID(word); ok && e.Status == Superseded {
			found = append(found, id)
		}
	}
	return found
}

// ParseLedger reads a ledger and returns everything that is wrong with it, with line numbers. A line is a comment (#), a
// section ([Events]) or an entry: id, status and, where the status needs one, a note, separated by tabs.
func ParseLedger(text string) ([]Entry, error) {
	var entries []Entry
	var section string
	var wrong []error
	seen := map[ID]bool{}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = line[1 : len(line)-1]
			continue
		}
		e, err := parseEntry(line)
		switch {
		case err != nil:
		case section == "":
			err = fmt.Errorf("%s comes before the first [section]", e.ID)
		case seen[e.ID]:
			err = fmt.Errorf("%s occurs twice", e.ID)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", i+1, err))
			continue
		}
		seen[e.ID], e.Section = true, section
		entries = append(entries, e)
	}
	for _, e := range entries {
		for _, by := range e.decisions() {
			if !seen[by] {
				wrong = append(wrong, fmt.Errorf("%s is superseded by %s, which the ledger does not have", e.ID, by))
			}
		}
	}
	return entries, errors.Join(wrong...)
}

func parseEntry(line string) (Entry, error) {
	word, rest, _ := strings.Cut(line, "\t")
	status, note, _ := strings.Cut(rest, "\t")
	id, ok := parseID(word)
	if !ok {
		return Entry{}, fmt.Errorf("%q is not an id; a line is an id, a status and perhaps a note, separated by tabs", word)
	}
	e := Entry{ID: id, Status: Status(status), Note: note}
	switch e.Status {
	case Proven, Open:
		if note != "" {
			return e, fmt.Errorf("%s is %s, which takes no note", id, status)
		}
	case Documentation:
		if note == "" {
			return e, fmt.Errorf("%s is documentation and needs a note with the reason", id)
		}
	case Superseded:
		if words := strings.Fields(note); len(words) == 0 || len(words) != len(e.decisions()) {
			return e, fmt.Errorf("%s is superseded and needs a note of ids, such as \"N12 D9\"", id)
		}
	default:
		return e, fmt.Errorf("%s has status %q instead of proven, superseded, documentation or open", id, status)
	}
	return e, nil
}
