// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// An id names a sentence of the contract: a rule on kinds (K), an item of the Go API (A), behaviour (R), an API pattern (P),
// tooling (T), a decision (N), a resolved question (D) or an extension (O).
type id string

var (
	idPattern  = regexp.MustCompile(`[KARPTNDO][1-9][0-9]*`)
	onePattern = regexp.MustCompile(`^` + idPattern.String() + `$`)
)

// idsIn returns the ids in the name of a test, each once: every word that is an id, as in TestPending_R82 or
// "pending newer than succeeded (R82)". "R86's advice" claims nothing.
func idsIn(test string) []id {
	words := strings.FieldsFunc(test, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
	var found []id
	for _, word := range words {
		if onePattern.MatchString(word) {
			found = append(found, id(word))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

type status string

const (
	proven        status = "proven"        // a passing test names the id
	superseded    status = "superseded"    // replaced by the decisions in the note, whose tests count
	documentation status = "documentation" // cannot be tested; the note gives the reason
	open          status = "open"          // not built or not proven yet
)

// An entry is one line of the ledger.
type entry struct {
	id      id
	status  status
	note    string
	section string
}

// decisions returns the ids that replace a superseded entry.
func (e entry) decisions() []id {
	if e.status != superseded {
		return nil
	}
	var found []id
	for word := range strings.FieldsSeq(e.note) {
		if onePattern.MatchString(word) {
			found = append(found, id(word))
		}
	}
	return found
}

// parseLedger reads a ledger and returns everything that is wrong with it, with line numbers. A line is a comment (#), a
// section ([Events]) or an entry: id, status and, where the status needs one, a note, separated by tabs.
func parseLedger(text string) ([]entry, error) {
	var entries []entry
	var section string
	var wrong []error
	seen := map[id]bool{}
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
			err = fmt.Errorf("%s comes before the first [section]", e.id)
		case seen[e.id]:
			err = fmt.Errorf("%s occurs twice", e.id)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", i+1, err))
			continue
		}
		seen[e.id], e.section = true, section
		entries = append(entries, e)
	}
	for _, e := range entries {
		for _, by := range e.decisions() {
			if !seen[by] {
				wrong = append(wrong, fmt.Errorf("%s is superseded by %s, which the ledger does not have", e.id, by))
			}
		}
	}
	return entries, errors.Join(wrong...)
}

func parseEntry(line string) (entry, error) {
	word, rest, _ := strings.Cut(line, "\t")
	state, note, _ := strings.Cut(rest, "\t")
	if !onePattern.MatchString(word) {
		return entry{}, fmt.Errorf("%q is not an id; a line is an id, a status and perhaps a note, separated by tabs", word)
	}
	e := entry{id: id(word), status: status(state), note: note}
	switch e.status {
	case proven, open:
		if note != "" {
			return e, fmt.Errorf("%s is %s, which takes no note", word, state)
		}
	case documentation:
		if note == "" {
			return e, fmt.Errorf("%s is documentation and needs a note with the reason", word)
		}
	case superseded:
		if n := len(strings.Fields(note)); n == 0 || n != len(e.decisions()) {
			return e, fmt.Errorf("%s is superseded and needs a note of ids, such as \"N12 D9\"", word)
		}
	default:
		return e, fmt.Errorf("%s has status %q instead of proven, superseded, documentation or open", word, state)
	}
	return e, nil
}
