// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// An ID names an item of the contract: a requirement (K kinds, A Go API, R behaviour, P patterns, T tooling), a decision
// (N, D) or an opportunity (O).
type ID struct {
	Letter string
	Number int
}

func (id ID) String() string { return id.Letter + strconv.Itoa(id.Number) }

// MarshalText lets an ID be a key in JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// counted tells whether the ledger has to have the id.
func (id ID) counted() bool { return strings.Contains("KARPT", id.Letter) }

// known tells whether an id that the ledger does not count exists. A new decision raises its limit.
func (id ID) known() bool {
	switch id.Letter {
	case "N":
		return id.Number <= 36
	case "D":
		return id.Number <= 51
	case "O":
		return id.Number <= 34
	}
	return false
}

func (id ID) decision() bool { return (id.Letter == "N" || id.Letter == "D") && id.known() }

func compareIDs(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Letter, b.Letter), cmp.Compare(a.Number, b.Number))
}

var (
	idPattern   = regexp.MustCompile(`[KARPTNDO][1-9][0-9]*`)
	onePattern  = regexp.MustCompile(`^` + idPattern.String() + `$`)
	funcPattern = regexp.MustCompile(`^(?:Test|Fuzz)((?:` + idPattern.String() + `)+)(?:\p{Lu}.*)?$`)
)

// parseID reads a whole word as an id.
func parseID(word string) (ID, bool) {
	if !onePattern.MatchString(word) {
		return ID{}, false
	}
	number, err := strconv.Atoi(word[1:])
	return ID{word[:1], number}, err == nil
}

// idsIn returns the ids that the name of a test claims, each once: those that are a word of the name, and those that
// follow Test in the name of the function, as in TestR82R83Pending. "R86's advice" speaks of R86 and claims nothing.
func idsIn(test string) []ID {
	var found []ID
	words := strings.FieldsFunc(test, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
	for i, word := range words {
		if id, ok := parseID(word); ok {
			found = append(found, id)
		}
		if m := funcPattern.FindStringSubmatch(word); i == 0 && m != nil {
			for _, glued := range idPattern.FindAllString(m[1], -1) {
				if id, ok := parseID(glued); ok {
					found = append(found, id)
				}
			}
		}
	}
	slices.SortFunc(found, compareIDs)
	return slices.Compact(found)
}
