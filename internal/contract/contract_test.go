// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestIDsIn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		name string
		want []id
	}{
		"at the end of a subtest":     {"TestLeak/pending_newer_than_succeeded_(R82,_N25)", []id{"N25", "R82"}},
		"at the start of a subtest":   {"TestCreate/R77_R79_N22_create_with_tokens", []id{"N22", "R77", "R79"}},
		"in the middle, repeated":     {"TestPolicy/alone_(K4,_K4)/A1#01", []id{"A1", "K4"}},
		"at the end of a function":    {"TestPendingNewer_R82_R83/x", []id{"R82", "R83"}},
		"glued to a function":         {"TestR82Pending", nil},
		"speaks of one":               {"TestLeak/as_after_R86's_advice", nil},
		"part of a longer word":       {"TestIPv4/XR82_R82x_R082_R0", nil},
		"continued in lower case":     {"TestR82pending", nil},
		"glued in a subtest":          {"TestLeak/TestR82Pending", nil},
		"other letters":               {"TestUTF8/B1_r82", nil},
		"an example of a test's name": {"Test", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, idsIn(tc.name)); diff != "" {
				t.Errorf("ids in %s -want +got:\n%s", tc.name, diff)
			}
		})
	}
}

func TestParseLedger(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text string
		want string // the error; empty for none
	}{
		"every status":   {"# comment\n\n[one]\nA1\tproven\nA2\tsuperseded\tN5\nA3\tdocumentation\twhy\n[two]\nN5\topen\n", ""},
		"no section":     {"R1\topen", "line 1: R1 comes before the first [section]"},
		"twice":          {"[one]\nR1\topen\n[two]\nR1\topen", "line 4: R1 occurs twice"},
		"no tabs":        {"[one]\nR1 open", `line 2: "R1 open" is not an id; a line is an id, a status and perhaps a note, separated by tabs`},
		"another status": {"[one]\nR1\tdone", `line 2: R1 has status "done" instead of proven, superseded, documentation or open`},
		"a note":         {"[one]\nR1\topen\tb", "line 2: R1 is open, which takes no note"},
		"no reason":      {"[one]\nR1\tdocumentation", "line 2: R1 is documentation and needs a note with the reason"},
		"no decision":    {"[one]\nR1\tsuperseded\tby N5", `line 2: R1 is superseded and needs a note of ids, such as "N12 D9"`},
		"no such decision": {
			"[one]\nR1\tsuperseded\tN5 N99\nN5\tproven", "R1 is superseded by N99, which the ledger does not have",
		},
		"everything at once": {
			"[one]\nR1\topen\tb\nR1\tdocumentation",
			"line 2: R1 is open, which takes no note\nline 3: R1 is documentation and needs a note with the reason",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseLedger(tc.text)
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

func TestReadResults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		events   []string
		want     *results
		progress []string
		err      string
	}{
		"pass, fail and skip": {
			events: []string{
				"go: downloading something", "",
				`{"Action":"start","Package":"p"}`,
				`{"Action":"run","Package":"p","Test":"TestB"}`,
				`{"Action":"output","Package":"p","Test":"TestB","Output":"hello\n"}`,
				`{"Action":"fail","Package":"p","Test":"TestB","Elapsed":0.1}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"skip","Package":"p","Test":"TestC"}`,
				`{"Action":"fail","Package":"p","Elapsed":1.25}`,
			},
			want:     &results{tests: tests{{"p", "TestA", "pass"}, {"p", "TestB", "fail"}}},
			progress: []string{"fail p TestB 0.1s", "     hello", "fail p 1.2s"},
		},
		"a failure stays when the test runs again": {
			events: []string{
				`{"Action":"fail","Package":"p","Test":"TestA"}`,
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			want:     &results{tests: tests{{"p", "TestA", "fail"}}},
			progress: []string{"fail p TestA 0.0s", "fail p 0.0s"},
		},
		"a test that never ends has not passed": {
			events:   []string{`{"Action":"run","Package":"p","Test":"TestA"}`, `{"Action":"fail","Package":"p"}`},
			want:     &results{tests: tests{{"p", "TestA", "run"}}},
			progress: []string{"fail p 0.0s"},
		},
		"a package that does not build": {
			events: []string{
				`{"ImportPath":"q","Action":"build-output","Output":"q.go:1: no\n"}`,
				`{"Action":"fail","Package":"q"}`,
				`{"Action":"skip","Package":"r"}`,
			},
			want:     &results{broken: []string{"q"}},
			progress: []string{"q.go:1: no", "fail q 0.0s", "skip r 0.0s"},
		},
		"cut off": {
			events: []string{`{"Action":"pass","Package":"p"}`, `{"Action":"pa`},
			err:    "reading test events, line 2 (was the output cut off?): unexpected end of JSON input",
		},
		"something else": {
			events: []string{"ok p"},
			err:    "reading test events: no package ended; is this the output of `go test -json`?",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var progress []string
			got, err := readResults(strings.NewReader(strings.Join(tc.events, "\n")), func(line string) { progress = append(progress, line) })
			if err != nil || tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("error %v, want %s", err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(results{}, test{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("results -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.progress, progress); diff != "" {
				t.Errorf("progress -want +got:\n%s", diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	pass := func(name string) test { return test{"p", name, "pass"} }
	fail := func(name string) test { return test{"p", name, "fail"} }
	const ok, failed = "    ok   p Test/", "    FAIL p Test/"
	cases := map[string]struct {
		entry   string
		tests   []test
		broken  []string
		partial bool
		holds   bool
		want    []violation
	}{
		"proven and passing":                {entry: "R1\tproven", tests: []test{pass("Test/R1_x")}, holds: true},
		"proven, without a test":            {entry: "R1\tproven", tests: []test{pass("Test/x")}, want: []violation{{provenWithout, "R1\n"}}},
		"proven, without a test among some": {entry: "R1\tproven", partial: true},
		"proven and failing once": {
			entry: "R1\tproven", tests: []test{pass("Test/R1_x"), fail("Test/R1_y")},
			want: []violation{{failingTest, "R1\n" + ok + "R1_x\n" + failed + "R1_y\n"}},
		},
		"open":             {entry: "R1\topen"},
		"open and failing": {entry: "R1\topen", tests: []test{pass("Test/R1_x"), fail("Test/R1_y")}},
		"open and passing": {
			entry: "R1\topen", tests: []test{pass("Test/R1_x")}, want: []violation{{openButPassing, "R1\n" + ok + "R1_x\n"}},
		},
		"superseded, decision proven":         {entry: "R1\tsuperseded\tN5 N7\nN5\topen\nN7\topen", tests: []test{pass("Test/R1")}, holds: true},
		"superseded, decision not proven yet": {entry: "R1\tsuperseded\tN5\nN5\topen"},
		"superseded, decision failing": {
			entry: "R1\tsuperseded\tN5 N7\nN5\topen\nN7\topen", tests: []test{pass("Test/R1"), fail("Test/N7")},
			want: []violation{{failingTest, "R1\n" + ok + "R1\n" + failed + "N7\n"}},
		},
		"documentation": {entry: "R1\tdocumentation\twhy", holds: true},
		"documentation and failing": {
			entry: "R1\tdocumentation\twhy", tests: []test{fail("Test/R1")}, want: []violation{{failingTest, "R1\n" + failed + "R1\n"}},
		},
		"unknown id":     {entry: "R1\topen", tests: []test{pass("Test/R2")}, want: []violation{{unknownID, "R2\n" + ok + "R2\n"}}},
		"broken package": {entry: "R1\topen", broken: []string{"q"}, want: []violation{{brokenPackage, "q"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger, err := parseLedger("[one]\n" + tc.entry)
			if err != nil {
				t.Fatal(err)
			}
			got := check(ledger, &results{tests: tc.tests, broken: tc.broken}, tc.partial)
			if diff := cmp.Diff(tc.want, got.violations, cmp.AllowUnexported(violation{})); diff != "" {
				t.Errorf("violations -want +got:\n%s", diff)
			}
			if holds := got.sections[0].holds == 1; holds != tc.holds {
				t.Errorf("the entry holds: %t, want %t", holds, tc.holds)
			}
		})
	}
}

func TestMainCommand(t *testing.T) {
	t.Parallel()
	const ledger = "[one]\nR1\tproven\nR2\tsuperseded\tN5\n[two]\nP1\tdocumentation\twhy\nR3\topen\nN5\topen\n"
	const events = `{"Action":"pass","Package":"m/p","Test":"Test/R1"}
{"Action":"pass","Package":"m/p","Test":"Test/R3"}
{"Action":"pass","Package":"m/p"}
`
	const table = `section  proven  superseded  documentation  open  holds
one      1       1           0              0     1 of 2
two      0       0           1              2     1 of 3

VIOLATION: ` + openButPassing + `:
  R3
    ok   p Test/R3

contract: 2 of 5
`
	path := filepath.Join(t.TempDir(), "ledger.tsv")
	if err := os.WriteFile(path, []byte(ledger), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args   []string
		stdin  string
		code   int
		stdout string
		stderr string // what it contains
	}{
		"violations":   {code: 1, stdin: events, stdout: table, stderr: "pass m/p 0.0s\n"},
		"list":         {args: []string{"-list", "R1"}, stdin: events, stdout: "1 tests name R1\n    ok   p Test/R1\n"},
		"list nothing": {args: []string{"-list", "R2"}, stdin: events, code: 1, stdout: "0 tests name R2\n"},
		"list no id":   {args: []string{"-list", "x"}, stdin: events, code: 2, stderr: "ids look like R82"},
		"no events":    {code: 2, stderr: "is this the output of `go test -json`?"},
		"help":         {args: []string{"-help"}, stderr: "Usage: go test -json"},
		"no ledger":    {args: []string{"-ledger", "nowhere"}, code: 2, stderr: "run from the root of the repository"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr strings.Builder
			code := Main(append([]string{"-ledger", path}, tc.args...), strings.NewReader(tc.stdin), &stdout, &stderr)
			if code != tc.code || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("exit code %d, want %d; stderr without %q:\n%s", code, tc.code, tc.stderr, stderr.String())
			}
			if diff := cmp.Diff(tc.stdout, stdout.String()); diff != "" {
				t.Errorf("output -want +got:\n%s", diff)
			}
		})
	}
}
