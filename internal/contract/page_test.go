// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page states the contract and the ledger its status: each has every id of the other, in the same sections and order.
func TestPageMatchesLedger(t *testing.T) {
	t.Parallel()
	ledger, err := parseLedger(read(t, "ledger.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	const most = 583 // ids; a sentence is never deleted, but superseded
	if len(ledger) < most {
		t.Errorf("the ledger has %d ids, fewer than %d", len(ledger), most)
	}
	var want []string
	for _, e := range ledger {
		want = append(want, e.section+": "+string(e.id)+" "+mark(e))
	}
	got, wrong := pageEntries(read(t, "../../docs/contract.md"))
	for _, w := range wrong {
		t.Errorf("docs/contract.md: %s", w)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/contract.md and internal/contract/ledger.tsv differ, -ledger +page:\n%s", diff)
	}
}

var cited = regexp.MustCompile(`\((` + idPattern.String() + `(?:,? ` + idPattern.String() + `)*)\)`)

// Comments and names of tests cite ids in parentheses. A reader finds each of them in the page.
func TestCitedIDsAreOnThePage(t *testing.T) {
	t.Parallel()
	ledger, err := parseLedger(read(t, "ledger.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, e := range ledger {
		known[string(e.id)] = true
	}
	const root = "../.."
	var citations int
	err = fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || path == "internal/contract" || strings.HasPrefix(name, ".") && path != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".md"):
			return nil
		}
		for _, m := range cited.FindAllStringSubmatch(read(t, root+"/"+path), -1) {
			for _, id := range idPattern.FindAllString(m[1], -1) {
				citations++
				if !known[id] {
					t.Errorf("%s cites %s, which docs/contract.md does not have", path, id)
				}
			}
		}
		return nil
	})
	if err != nil || citations == 0 {
		t.Errorf("read %d citations, error %v", citations, err)
	}
}

func TestPageEntries(t *testing.T) {
	t.Parallel()
	const page = "# The contract\n\n- a list\n\n## One\n\n- <a id=\"R1\"></a>**R1** It works.\n" +
		"- <a id=\"R2\"></a>**R2** *Superseded by [N5](#N5) and [D9](#D9).* It broke, as [R3](#R3) does.\n" +
		"- <a id=\"R4\"></a>**R3** It floats.\n- **R5** It sinks\n- <a id=\"R6\"></a>**R6** *Planned.* It flies.\n"
	got, wrong := pageEntries(page)
	if diff := cmp.Diff([]string{"One: R1 ", "One: R2 *Superseded by N5 D9.* ", "One: R6 *Planned.* "}, got); diff != "" {
		t.Errorf("entries -want +got:\n%s", diff)
	}
	want := []string{
		"line 10: not an entry", "line 9: not an entry",
		"link to D9, which is not there", "link to N5, which is not there", "link to R3, which is not there",
	}
	if diff := cmp.Diff(want, wrong); diff != "" {
		t.Errorf("mistakes -want +got:\n%s", diff)
	}
}

var (
	pageLine = regexp.MustCompile(`^- <a id="(\w+)"></a>\*\*(\w+)\*\* (\*[A-Z][^*]*\.\* )?[A-Z\x60].*\.$`)
	pageLink = regexp.MustCompile(`\[(\w+)\]\(#(\w+)\)`)
)

// pageEntries returns section, id and mark of every entry of the page in order, and what is wrong with it.
func pageEntries(page string) (entries, wrong []string) {
	var section string
	there := map[string]bool{}
	for i, line := range strings.Split(page, "\n") {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			section = name
		}
		m := pageLine.FindStringSubmatch(line)
		switch {
		case m != nil && m[1] == m[2] && section != "":
			there[m[1]] = true
			by := strings.ReplaceAll(pageLink.ReplaceAllString(m[3], "$1"), " and ", " ")
			entries = append(entries, section+": "+m[1]+" "+by)
		case strings.HasPrefix(line, "- ") && section != "":
			wrong = append(wrong, fmt.Sprintf("line %d: not an entry", i+1))
		}
	}
	for _, m := range pageLink.FindAllStringSubmatch(page, -1) {
		if !there[m[2]] || m[1] != m[2] {
			wrong = append(wrong, "link to "+m[2]+", which is not there")
		}
	}
	slices.Sort(wrong)
	return entries, wrong
}

// mark returns what the page writes in front of the sentence of an entry.
func mark(e entry) string {
	switch e.status {
	case superseded:
		return "*Superseded by " + e.note + ".* "
	case documentation:
		return "*Guidance.* "
	case open:
		return "*Planned.* "
	}
	return ""
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
