// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// A test is one test or subtest that ran.
type test struct{ pkg, name, outcome string }

// results are the outcome of a run of `go test -json`.
type results struct {
	tests  tests    // sorted; the outcome of one that never ended is "run"
	broken []string // packages that failed without a failing test, sorted: they did not build, or broke off
}

// event is the part of an event of `go test -json` that this package uses.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// readResults reads the output of `go test -json` to its end. It calls progress for each package that ends, each test that
// fails and each line of a failing build. Lines that are not JSON, which go writes before it begins, are ignored.
func readResults(r io.Reader, progress func(line string)) (*results, error) {
	outcomes := map[[2]string]string{} // the last action by package and test (none for the package); a failure stays
	said := map[[2]string][]string{}   // by tests that have not ended
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading test events: %w", err)
		}
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("{")) {
			var e event
			if bad := json.Unmarshal(line, &e); bad != nil {
				return nil, fmt.Errorf("reading test events, line %d (was the output cut off?): %w", number, bad)
			}
			e.record(outcomes, said, progress)
		}
		if err != nil {
			return collect(outcomes)
		}
	}
}

// mostSaid is how many lines of output of a failed test are shown, the last ones.
const mostSaid = 60

func (e event) record(outcomes map[[2]string]string, said map[[2]string][]string, progress func(string)) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "output":
		all := append(said[key], strings.TrimRight(e.Output, "\n"))
		said[key] = all[max(0, len(all)-mostSaid):]
	case "build-output":
		progress(strings.TrimRight(e.Output, "\n"))
	case "pass", "fail", "skip", "run":
		if outcomes[key] != "fail" {
			outcomes[key] = e.Action
		}
		if e.Test == "" || e.Action == "fail" {
			progress(fmt.Sprintf("%-4s %s %.1fs", e.Action, strings.TrimSpace(e.Package+" "+e.Test), e.Elapsed))
		}
		if e.Action == "fail" && e.Test != "" {
			for _, line := range said[key] {
				progress("     " + line)
			}
		}
		if e.Action != "run" {
			delete(said, key)
		}
	}
}

func collect(outcomes map[[2]string]string) (*results, error) {
	r := &results{}
	explained := map[string]bool{} // packages with a failing test
	var packages int
	for key, outcome := range outcomes {
		t := test{key[0], key[1], outcome}
		switch {
		case t.name == "":
			packages++
			if outcome == "fail" {
				r.broken = append(r.broken, t.pkg)
			}
		case outcome != "skip":
			r.tests = append(r.tests, t)
			explained[t.pkg] = explained[t.pkg] || !t.passed()
		}
	}
	if packages == 0 {
		return nil, errors.New("reading test events: no package ended; is this the output of `go test -json`?")
	}
	r.broken = slices.DeleteFunc(r.broken, func(pkg string) bool { return explained[pkg] })
	slices.Sort(r.broken)
	slices.SortFunc(r.tests, func(a, b test) int { return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name)) })
	return r, nil
}

func (t test) passed() bool { return t.outcome == "pass" }

// tests are the tests that name one id.
type tests []test

func (t tests) fail() bool { return slices.ContainsFunc(t, func(t test) bool { return !t.passed() }) }

// prove reports whether at least one test passes and none fails.
func (t tests) prove() bool { return len(t) > 0 && !t.fail() }

// String lists the tests, one indented line each.
func (t tests) String() string {
	var text strings.Builder
	for _, test := range t {
		outcome := "ok"
		if !test.passed() {
			outcome = "FAIL"
		}
		fmt.Fprintf(&text, "    %-4s %s %s\n", outcome, path.Base(test.pkg), test.name)
	}
	return text.String()
}

func (r *results) byID() map[id]tests {
	found := map[id]tests{}
	for _, test := range r.tests {
		for _, id := range idsIn(test.name) {
			found[id] = append(found[id], test)
		}
	}
	return found
}
