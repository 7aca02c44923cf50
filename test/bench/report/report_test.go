// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i) // in the wrong order
	}
	for _, tc := range []struct {
		of      []time.Duration
		percent float64
		want    time.Duration
	}{
		{nil, 50, 0}, {[]time.Duration{7}, 99, 7}, {[]time.Duration{3, 1, 2}, 50, 2}, {[]time.Duration{4, 3, 2, 1}, 50, 2},
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 99.5, 100}, {hundred, 100, 100}, {hundred, 0, 1},
	} {
		if got := Percentile(tc.of, tc.percent); got != tc.want {
			t.Errorf("p%v of %v is %d, want %d", tc.percent, tc.of, got, tc.want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	before, after := &Report{Settings: []Setting{{"objects", "1000"}}}, &Report{Settings: []Setting{{"objects", "500"}}}
	before.Add("create", "seconds", 12.5)
	before.Add("create", "requests", 0)
	after.Add("create", "seconds", 9.956)
	after.Add("create", "requests", 0)
	after.Add("create", "objects per second", 100.4)
	after.Add("idle", "API requests", 0.01234)
	path := filepath.Join(t.TempDir(), "report.json")
	if err := after.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	read, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var table, comparison strings.Builder
	if err := errors.Join(Write(&table, read), Write(&comparison, before, read)); err != nil {
		t.Fatal(err)
	}
	const wantTable = `objects: 500

CREATE
  seconds               9.96
  requests                 0
  objects per second     100

IDLE
  API requests        0.0123
`
	const wantComparison = `objects: 1000 -> 500

RATIOS             after / before
  create: seconds           0.796

CREATE                before   after   change
  seconds               12.5    9.96  -20.4 %
  requests                 0       0      0 %
  objects per second       -     100        -

IDLE                  before   after   change
  API requests             -  0.0123        -
`
	if diff := cmp.Diff(wantTable+wantComparison, table.String()+comparison.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := change(0, 1); got != "from 0" {
		t.Error(got)
	}
	if err := os.WriteFile(path, []byte("no report"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an error that does not name the file: %v", err)
	}
}

func TestAddRatios(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		measured []Figure
		want     []Figure // that come first
	}{
		"both": {
			[]Figure{{"create", "seconds", 6}, {"create", "controllers: CPU seconds", 3}, {"create", "API server: CPU seconds", 1},
				{SixRequests, "seconds", 4}, {SixRequests, "harness: CPU seconds", 2}},
			[]Figure{{Ratios, RatioOfCreate, 1.5}, {Ratios, "create to Ready, times the floor of six requests, CPU seconds", 2}},
		},
		"no floor":  {[]Figure{{"create", "seconds", 6}}, nil},
		"no create": {[]Figure{{SixRequests, "seconds", 6}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Report{Figures: tc.measured}
			r.AddRatios()
			if diff := cmp.Diff(append(tc.want, tc.measured...), r.Figures); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMean(t *testing.T) {
	t.Parallel()
	one := &Report{Settings: []Setting{{"version", "a"}}, Figures: []Figure{{"create", "seconds", 1}, {"create", "only here", 5}}}
	two := &Report{Settings: []Setting{{"version", "a"}}, Figures: []Figure{{"create", "seconds", 2}, {"delete", "seconds", 3}}}
	want := &Report{Settings: one.Settings, Figures: []Figure{{"create", "seconds", 1.5}, {"create", "only here", 5}, {"delete", "seconds", 3}}}
	if diff := cmp.Diff(want, Mean([]*Report{one, two})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSamePolls(t *testing.T) {
	t.Parallel()
	polls := func(seconds float64) *Report {
		return &Report{Figures: []Figure{{"idle", "seconds between polls", seconds}}}
	}
	for name, tc := range map[string]struct {
		a, b *Report
		want bool
	}{
		"same":           {polls(12), polls(12), true},
		"another":        {polls(12), polls(60), false},
		"an older bench": {&Report{Figures: []Figure{{"idle", "seconds", 10}}}, polls(12), false},
	} {
		if got := SamePolls(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
