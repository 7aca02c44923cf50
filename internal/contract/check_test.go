// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	pass := func(name string) Test { return Test{"p", name, true} }
	fail := func(name string) Test { return Test{"p", name, false} }
	cases := map[string]struct {
		entry   string
		tests   []Test
		broken  []string
		partial bool
		holds   bool
		want    []Violation
	}{
		"proven and passing": {entry: "R1\tproven\tt", tests: []Test{pass("Test/R1_x")}, holds: true},
		"proven, without a test": {
			entry: "R1\tproven\tt", tests: []Test{pass("Test/x")}, want: []Violation{{provenWithout, "R1 t"}},
		},
		"proven, without a test among some": {entry: "R1\tproven\tt", partial: true},
		"proven and failing once": {
			entry: "R1\tproven\tt", tests: []Test{pass("Test/R1_x"), fail("Test/R1_y")},
			want: []Violation{{failingTest, "R1 t\n    FAIL p Test/R1_y"}},
		},
		"open":             {entry: "R1\topen\tt"},
		"open and failing": {entry: "R1\topen\tt", tests: []Test{pass("Test/R1_x"), fail("Test/R1_y")}},
		"open and passing": {
			entry: "R1\topen\tt", tests: []Test{pass("Test/R1_x")}, want: []Violation{{openButPassing, "R1 t"}},
		},
		"superseded, decision proven": {
			entry: "R1\tsuperseded\tt\tN5 N7", tests: []Test{pass("Test/N5")}, holds: true,
		},
		"superseded, decision not proven yet": {entry: "R1\tsuperseded\tt\tN5"},
		"superseded, decision failing": {
			entry: "R1\tsuperseded\tt\tN5 N7", tests: []Test{pass("Test/N5"), fail("Test/N7")},
			want: []Violation{{failingTest, "R1 t\n    FAIL p Test/N7"}},
		},
		"documentation": {entry: "R1\tdocumentation\tt\twhy", holds: true},
		"documentation and failing": {
			entry: "R1\tdocumentation\tt\twhy", tests: []Test{fail("Test/R1")},
			want: []Violation{{failingTest, "R1 t\n    FAIL p Test/R1"}},
		},
		"unknown ids": {
			entry: "R1\topen\tt", tests: []Test{pass("Test/R2_N36_D51_O34"), pass("Test/N37")},
			want: []Violation{{unknownID, "N37\n    ok   p Test/N37"}, {unknownID, "R2\n    ok   p Test/R2_N36_D51_O34"}},
		},
		"broken package": {entry: "R1\topen\tt", broken: []string{"q"}, want: []Violation{{brokenPackage, "q"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := ParseLedger("[one]\n" + tc.entry)
			if err != nil {
				t.Fatal(err)
			}
			got := Check(l, &Results{Tests: tc.tests, Broken: tc.broken}, tc.partial)
			if diff := cmp.Diff(tc.want, got.Violations); diff != "" {
				t.Errorf("violations -want +got:\n%s", diff)
			}
			if holds := got.Holding() == 1; holds != tc.holds {
				t.Errorf("the entry counts: %t, want %t", holds, tc.holds)
			}
		})
	}
}
