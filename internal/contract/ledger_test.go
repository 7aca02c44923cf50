// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ranges are the numbers that the contract uses, first and last. Only a change of the contract changes them.
func ranges() map[string][][2]int {
	return map[string][][2]int{
		"K": {{1, 16}, {20, 40}, {50, 60}, {70, 74}, {80, 81}},
		"A": {{1, 14}, {20, 21}, {30, 45}, {50, 58}, {60, 68}, {70, 73}, {80, 82}, {90, 95}},
		"R": {{1, 321}},
		"P": {{1, 6}, {10, 15}, {20, 27}, {30, 35}, {40, 46}, {50, 52}, {60, 66}, {70, 72}, {80, 81}, {90, 92}},
		"T": {{1, 7}, {10, 14}, {20, 26}, {30, 33}, {40, 42}, {50, 53}, {60, 63}, {70, 73}},
	}
}

// The ledger of this repository has every requirement, once; ParseLedger refuses what stands there twice.
func TestLedgerIsComplete(t *testing.T) {
	t.Parallel()
	l, err := ReadLedger("ledger.tsv")
	if err != nil {
		t.Fatal(err)
	}
	const total = 528
	if len(l.Entries) != total {
		t.Errorf("the ledger has %d entries, the contract has %d", len(l.Entries), total)
	}
	surplus := map[ID]bool{}
	for _, e := range l.Entries {
		surplus[e.ID] = true
	}
	for letter, all := range ranges() {
		for _, r := range all {
			for number := r[0]; number <= r[1]; number++ {
				id := ID{letter, number}
				if !surplus[id] {
					t.Errorf("%s is missing from the ledger", id)
				}
				delete(surplus, id)
			}
		}
	}
	for id := range surplus {
		t.Errorf("%s is in the ledger, but not in the contract", id)
	}
}

func TestParseLedger(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text string
		want string // the error; empty for none
	}{
		"every status":             {"# comment\n\n[one]\nA1\tproven\ta\nA2\tsuperseded\tb\tN5 D9\nA3\tdocumentation\tc\twhy\nA4\topen\td\n", ""},
		"sorted anew in a section": {"[one]\nR9\topen\ta\n[two]\nR1\topen\tb", ""},
		"numbers are no words":     {"[one]\nR9\topen\ta\nR10\topen\tb", ""},
		"no section":               {"R1\topen\ta", "line 1: R1 comes before the first [section]"},
		"twice":                    {"[one]\nR1\topen\ta\n[two]\nR1\topen\tb", "line 4: R1 is on line 2 already"},
		"not sorted":               {"[one]\nR10\topen\ta\nR9\topen\tb", "line 3: R9 comes after R10; sort the section by number"},
		"no tabs":                  {"[one]\nR1 open a", "line 2: 1 fields instead of id, status, title and perhaps a note, separated by tabs"},
		"a decision":               {"[one]\nN1\topen\ta", `line 2: "N1" is not an id of K, A, R, P or T`},
		"another status":           {"[one]\nR1\tdone\ta", `line 2: R1 has status "done" instead of proven, superseded, documentation or open`},
		"no title":                 {"[one]\nR1\topen\t", "line 2: the title of R1 has 0 characters; it needs 1 to 90"},
		"long title": {
			"[one]\nR1\topen\t" + strings.Repeat("ö", 91),
			"line 2: the title of R1 has 91 characters; it needs 1 to 90",
		},
		"open with a note": {"[one]\nR1\topen\ta\tb", "line 2: R1 is open, which takes no note"},
		"no reason":        {"[one]\nR1\tdocumentation\ta", "line 2: R1 is documentation; say in a note why nothing can be tested"},
		"no decision": {
			"[one]\nR1\tsuperseded\ta",
			`line 2: R1 is superseded; its note must name decisions only, such as "N5" or "N12 D9"`,
		},
		"no such decision": {
			"[one]\nR1\tsuperseded\ta\tN5 N99",
			`line 2: R1 is superseded; its note must name decisions only, such as "N5" or "N12 D9"`,
		},
		"everything at once": {
			"[one]\nR1\topen\ta\tb\nR1\topen\t",
			"line 2: R1 is open, which takes no note\nline 3: the title of R1 has 0 characters; it needs 1 to 90",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseLedger(tc.text)
			var got string
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("error -want +got:\n%s", diff)
			}
		})
	}
}

func TestRaise(t *testing.T) {
	t.Parallel()
	const before = "# kept\n\n[one]\nR1\topen\topen and passing\nR2\topen\topen and failing\nR3\topen\topen without a test\n" +
		"R4\tproven\tproven and failing\nR5\tdocumentation\tdocumented and passing\twhy\n"
	l, err := ParseLedger(before)
	if err != nil {
		t.Fatal(err)
	}
	raised := l.Raise(&Results{Tests: []Test{
		{Name: "Test/R1_R5", Passed: true}, {Name: "Test/R2", Passed: true}, {Name: "Test/R2_R4", Passed: false},
	}})
	if len(raised) != 1 || raised[0].ID.String() != "R1" {
		t.Errorf("raised %v, want only the first", raised)
	}
	after := strings.Replace(before, "R1\topen", "R1\tproven", 1)
	if diff := cmp.Diff(after, l.Text()); diff != "" {
		t.Errorf("ledger -want +got:\n%s", diff)
	}
}
