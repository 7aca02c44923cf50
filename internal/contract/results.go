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

// A Test is one test or subtest that ran.
type Test struct {
	Package string
	Name    string
	Passed  bool
}

// Results are the outcome of a run of `go test -json`.
type Results struct {
	// Tests are all tests that ran, sorted. One that never ended has not passed; skipped ones are left out.
	Tests []Test
	// Broken are the packages that failed without a failing test, sorted: they did not build, or broke off.
	Broken []string
}

// event is the part of an event of `go test -json` that this package uses.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

type testKey struct{ pkg, name string }

// ReadResults reads the output of `go test -json` to its end. It calls progress for each package that ends and for each line
// of a failing build. Lines that are not JSON, which go writes before it begins, are ignored.
func ReadResults(r io.Reader, progress func(line string)) (*Results, error) {
	c := collector{outcomes: map[testKey]string{}, failed: map[string]bool{}}
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
			c.add(e, progress)
		}
		if err != nil {
			return c.results()
		}
	}
}

type collector struct {
	outcomes map[testKey]string // the last action of each test; a failure stays
	failed   map[string]bool    // packages
	packages int
}

func (c *collector) add(e event, progress func(string)) {
	ends := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
	switch {
	case e.Action == "build-output":
		progress(strings.TrimRight(e.Output, "\n"))
	case e.Test != "":
		key := testKey{e.Package, e.Test}
		if c.outcomes[key] != "fail" && (ends || e.Action == "run") {
			c.outcomes[key] = e.Action
		}
	case e.Package != "" && ends:
		c.packages++
		c.failed[e.Package] = c.failed[e.Package] || e.Action == "fail"
		progress(fmt.Sprintf("%-4s %s %.1fs", e.Action, e.Package, e.Elapsed))
	}
}

func (c *collector) results() (*Results, error) {
	if c.packages == 0 {
		return nil, errors.New("reading test events: no package ended; is this the output of `go test -json`?")
	}
	r := &Results{}
	explained := map[string]bool{}
	for key, outcome := range c.outcomes {
		if outcome == "skip" {
			continue
		}
		passed := outcome == "pass"
		r.Tests = append(r.Tests, Test{Package: key.pkg, Name: key.name, Passed: passed})
		explained[key.pkg] = explained[key.pkg] || !passed
	}
	for name, failed := range c.failed {
		if failed && !explained[name] {
			r.Broken = append(r.Broken, name)
		}
	}
	slices.Sort(r.Broken)
	slices.SortFunc(r.Tests, func(a, b Test) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Name, b.Name))
	})
	return r, nil
}

// tests are the tests that name one id.
type tests []Test

func (t tests) fail() bool {
	return slices.ContainsFunc(t, func(test Test) bool { return !test.Passed })
}

// prove reports whether at least one test passes and none fails.
func (t tests) prove() bool { return len(t) > 0 && !t.fail() }

// String lists the tests, one indented line each.
func (t tests) String() string {
	var text strings.Builder
	for _, test := range t {
		outcome := "ok"
		if !test.Passed {
			outcome = "FAIL"
		}
		fmt.Fprintf(&text, "    %-4s %s %s\n", outcome, path.Base(test.Package), test.Name)
	}
	return text.String()
}

func (r *Results) byID() map[ID]tests {
	found := map[ID]tests{}
	for _, test := range r.Tests {
		for _, id := range idsIn(test.Name) {
			found[id] = append(found[id], test)
		}
	}
	return found
}
