// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tinyLedger = `[one]
R1	proven	first
R2	superseded	second	N5
[two]
P1	documentation	fourth	why
R3	open	third
`

const tinyEvents = `{"Action":"pass","Package":"m/p","Test":"Test/R1"}
{"Action":"pass","Package":"m/p","Test":"Test/R3"}
{"Action":"pass","Package":"m/p"}
`

const tinyTable = `section  proven  superseded  documentation  open  holds
one      1       1           0              0     1 of 2
two      0       0           1              1     1 of 2

Superseded by decisions that no passing test names yet; they do not count so far:
  R2 (N5)
`

func TestMainCommand(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
		ledger string // afterwards; empty for unchanged
	}{
		"violations": {
			code: 1,
			stdout: tinyTable + "\nVIOLATION: " + openButPassing + ":\n  R3 third\n" +
				"\ncontract: 2 of 4\n",
		},
		"update": {
			args: []string{"--update"},
			stdout: "R3 is proven now: third\n1 ids raised from open to proven\n\n" +
				strings.Replace(tinyTable, "0       0           1              1     1 of", "1       0           1              0     2 of", 1) +
				"\ncontract: 3 of 4\n",
			ledger: strings.Replace(tinyLedger, "R3\topen", "R3\tproven", 1),
		},
		"list":         {args: []string{"--list", "R1"}, stdout: "    ok   p Test/R1\n"},
		"list nothing": {args: []string{"--list", "R2"}, code: 1, stdout: "no test names R2\n"},
		"list no id": {
			args: []string{"--list", "x"}, code: 2,
			stderr: "contract: invalid value \"x\" for flag -list: ids look like R82 (--help shows the flags)\n",
		},
		"file and runs": {
			args: []string{"./..."}, code: 2,
			stderr: "contract: --from reads a file and runs no tests: leave the packages out\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger, events := write(t, "ledger.tsv", tinyLedger), write(t, "events", tinyEvents)
			var stdout, stderr strings.Builder
			code := Main(append([]string{"--ledger", ledger, "--from", events}, tc.args...), &stdout, &stderr)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if diff := cmp.Diff([]string{tc.stdout, tc.stderr}, []string{stdout.String(), stderr.String()}); diff != "" {
				t.Errorf("output -want +got:\n%s", diff)
			}
			want := tc.ledger
			if want == "" {
				want = tinyLedger
			}
			if diff := cmp.Diff(want, read(t, ledger)); diff != "" {
				t.Errorf("ledger -want +got:\n%s", diff)
			}
		})
	}
}

func TestMainWritesTheMap(t *testing.T) {
	t.Parallel()
	ledger, events, to := write(t, "ledger.tsv", tinyLedger), write(t, "events", tinyEvents), filepath.Join(t.TempDir(), "map.json")
	var out strings.Builder
	if code := Main([]string{"--ledger", ledger, "--from", events, "--json", to}, &out, &out); code != 1 {
		t.Fatalf("exit code %d, want 1: %s", code, out.String())
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(read(t, to)), &got); err != nil {
		t.Fatal(err)
	}
	test := func(name string) []any { return []any{map[string]any{"package": "m/p", "name": name, "passed": true}} }
	want := map[string]any{
		"R1": map[string]any{"section": "one", "title": "first", "status": "proven", "holds": true, "tests": test("Test/R1")},
		"R2": map[string]any{"section": "one", "title": "second", "status": "superseded", "note": "N5", "holds": false},
		"R3": map[string]any{"section": "two", "title": "third", "status": "open", "holds": false, "tests": test("Test/R3")},
		"P1": map[string]any{"section": "two", "title": "fourth", "status": "documentation", "note": "why", "holds": true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("map -want +got:\n%s", diff)
	}
}

// The command runs go itself where no file is given. A folder outside any package shows what go says, without a test run.
func TestMainRunsGo(t *testing.T) {
	t.Parallel()
	var stdout, stderr strings.Builder
	code := Main([]string{"--ledger", write(t, "ledger.tsv", tinyLedger), "./nowhere"}, &stdout, &stderr)
	if code == 0 || !strings.Contains(stdout.String()+stderr.String(), "nowhere") {
		t.Errorf("exit code %d for a package that is not there\n%s%s", code, stdout.String(), stderr.String())
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
