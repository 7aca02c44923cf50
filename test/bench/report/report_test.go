// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
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
	cases := map[string]struct {
		of      []time.Duration
		percent float64
		want    time.Duration
	}{
		"none":               {percent: 50},
		"one":                {of: []time.Duration{7}, percent: 99, want: 7},
		"median of three":    {of: []time.Duration{3, 1, 2}, percent: 50, want: 2},
		"median of four":     {of: []time.Duration{4, 3, 2, 1}, percent: 50, want: 2},
		"p50 of a hundred":   {of: hundred, percent: 50, want: 50},
		"p99 of a hundred":   {of: hundred, percent: 99, want: 99},
		"p99.5 of a hundred": {of: hundred, percent: 99.5, want: 100},
		"p100":               {of: hundred, percent: 100, want: 100},
		"p0 is the smallest": {of: hundred, percent: 0, want: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Percentile(append([]time.Duration{}, tc.of...), tc.percent); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0", 5: "5", 5.25: "5.25", 5.256: "5.26", 52.56: "52.6", 525.6: "526", 0.012345: "0.0123", 12345.6: "12346", -5.256: "-5.26",
		1e-9: "0",
	} {
		if got := number(value); got != want {
			t.Errorf("%v is shown as %q, want %q", value, got, want)
		}
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		before, after float64
		incomparable  bool
		want          string
	}{
		"more":         {before: 10, after: 15, want: "+50.0 %"},
		"less":         {before: 10, after: 9.95, want: "-0.5 %"},
		"none":         {before: 10, after: 10, want: "0 %"},
		"of nothing":   {after: 1, want: "from 0"},
		"only in one":  {after: 1, incomparable: true, want: "-"},
		"of less than": {before: -10, after: -5, want: "+50.0 %"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := change(tc.before, tc.after, !tc.incomparable); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	want := New(Setting{Name: "objects", Value: "5"})
	want.Add("create", "seconds", 1.5)
	path := filepath.Join(t.TempDir(), "report.json")
	if err := want.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v -want +got:\n%s", err, diff)
	}
	if err := os.WriteFile(path, []byte("no report"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an error that does not name the file: %v", err)
	}
}

func ExampleReport_WriteTable() {
	r := New(Setting{Name: "objects", Value: "1000"})
	r.Add("create", "seconds", 12.5)
	r.Add("create", "objects per second", 80)
	r.Add("idle", "API requests", 0)
	_ = r.WriteTable(os.Stdout)
	// Output:
	// objects: 1000
	//
	// CREATE
	//   seconds             12.5
	//   objects per second    80
	//
	// IDLE
	//   API requests           0
}

func ExampleWriteComparison() {
	before, after := New(Setting{Name: "objects", Value: "1000"}), New(Setting{Name: "objects", Value: "1000"})
	before.Add("create", "seconds", 12.5)
	after.Add("create", "seconds", 10)
	after.Add("create", "objects per second", 100)
	_ = WriteComparison(os.Stdout, before, after)
	// Output:
	// objects: 1000
	//
	// CREATE                before  after   change
	//   seconds               12.5     10  -20.0 %
	//   objects per second       -    100        -
}
