// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = "# Title\n" +
	"```sh\necho one\n```\n```text\none\n```\n" +
	"<!-- apply -->\n```yaml\na: $b\n```\n" +
	"<!-- refused: no -->\n```sh\necho no; false\n```\n" +
	"<!-- shows: three -->\n```sh\necho three\n```\n" +
	"<!-- first -->\n```sh\necho zero\n```\n```text\nzero\n```\n"

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	want := []block{
		{line: 21, command: "echo zero\n", first: true, shows: []string{"zero"}},
		{line: 2, command: "echo one\n", shows: []string{"one"}},
		{line: 9, command: "kubectl apply -f - <<'END OF YAML'\na: $b\nEND OF YAML\n"},
		{line: 13, command: "echo no; false\n", refused: true, shows: []string{"no"}},
		{line: 17, command: "echo three\n", shows: []string{"three"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, guide := range map[string]string{
		"no end":             "```sh\necho\n",
		"no language":        "```\necho\n```\n",
		"yaml for nothing":   "```yaml\na: b\n```\n",
		"output of no block": "```text\na\n```\n",
	} {
		if _, err := parse(guide); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: error %v, want one that names line 1", name, err)
		}
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		guide   string
		ran     bool // to the last block, and well
		missing string
	}{
		"all is well":             {sample, true, ""},
		"a command fails":         {"```sh\nfalse\n```\n" + sample, false, ""},
		"something else is shown": {strings.Replace(sample, "echo three", "echo four", 1), true, "three"},
		"it is not refused":       {strings.Replace(sample, "; false", "", 1), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, err := parse(tc.guide)
			if err != nil {
				t.Fatal(err)
			}
			text := "kubectl() { cat; }\n" + script(blocks)
			out, err := exec.CommandContext(t.Context(), "bash", "-c", text).CombinedOutput()
			last := blocks[len(blocks)-1]
			shown, ran := printed(string(out), last)
			if ran != tc.ran || (err == nil) != tc.ran {
				t.Fatalf("ended with %v, the last block ran: %t; want %t:\n%s", err, ran, tc.ran, out)
			}
			if line, _ := missing(shown, last.shows); ran && line != tc.missing {
				t.Errorf("missing is %q, want %q:\n%s", line, tc.missing, out)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	const output = "NAME   READY   AGE\nshop   True    4s\nlost   False   5s\n"
	for name, tc := range map[string]struct{ lines, want string }{
		"all of it":      {output, ""},
		"some of it":     {"shop True", ""},
		"with dots":      {"shop ... 4s\nlost ...", ""},
		"not there":      {"shop False", "shop False"},
		"in wrong order": {"lost\nshop", "shop"},
		"dots are dots":  {"READY.AGE", "READY.AGE"},
	} {
		if line, found := missing(output, strings.Split(strings.TrimSpace(tc.lines), "\n")); line != tc.want || found != (tc.want != "") {
			t.Errorf("%s: missing is %q, %t, want %q", name, line, found, tc.want)
		}
	}
}
