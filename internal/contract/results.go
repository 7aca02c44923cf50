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
	"slices"
)

// A Test is one test or subtest that ran, and whether it passed.
type Test struct {
	Package string `json:"package"`
	Name    string `json:"name"`
	Passed  bool   `json:"passed"`
}

// Results are what a run of `go test -json` says.
type Results struct {
	// Tests are all tests that ran, sorted. One that never ended has not passed; one that was skipped is not here.
	Tests []Test
	// Broken are the packages that failed without a failing test, sorted: they did not build, or broke off.
	Broken []string
}

// event is what this package reads of an event of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
	Output  string
}

// Progress is called for each package that ends, and for each line of a failing build.
type Progress func(line string)

type testKey struct{ pkg, name string }

// ReadResults reads a stream of `go test -json` until it ends. Lines that are not JSON, which go writes before it
// begins, are passed over.
func ReadResults(r io.Reader, progress Progress) (*Results, error) {
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
				return nil, fmt.Errorf("reading test events, line %d (was the file cut off?): %w", number, bad)
			}
			c.add(e, progress)
		}
		if err != nil {
			return c.results()
		}
	}
}

type collector struct {
	outcomes map[testKey]string // the last action of each test, but a failure stays
	failed   map[string]bool    // packages
	packages int
}

func (c *collector) add(e event, progress Progress) {
	ends := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
	switch {
	case e.Action == "build-output":
		progress(string(bytes.TrimRight([]byte(e.Output), "\n")))
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

// tests are the tests whose names claim one id.
type tests []Test

func (t tests) passing() tests { return t.with(true) }
func (t tests) failing() tests { return t.with(false) }

func (t tests) with(passed bool) tests {
	var found tests
	for _, test := range t {
		if test.Passed == passed {
			found = append(found, test)
		}
	}
	return found
}

// proves tells whether at least one test passes and none fails.
func (t tests) proves() bool { return len(t.passing()) > 0 && len(t.failing()) == 0 }

func (r *Results) byID() map[ID]tests {
	found := map[ID]tests{}
	for _, test := range r.Tests {
		for _, id := range idsIn(test.Name) {
			found[id] = append(found[id], test)
		}
	}
	return found
}
