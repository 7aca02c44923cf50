// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/test/bench/report"
)

// complete returns a report in which every target is exactly met, and everything else is 1.
func complete() *report.Report {
	r := &report.Report{Settings: []report.Setting{{Name: "version", Value: "bowline v1"}, {Name: "objects", Value: "1000"}}}
	for _, t := range targets() {
		r.Add(t.phase, t.figure, t.limit)
	}
	for _, d := range drawings(r.Setting) {
		for _, b := range d.bars {
			if _, ok := r.Get(b.phase, b.figure); !ok {
				r.Add(b.phase, b.figure, 1)
			}
		}
	}
	return r
}

func TestPage(t *testing.T) {
	t.Parallel()
	missed := complete()
	for i, f := range missed.Figures {
		switch {
		case f.Name == report.RatioOfCreate:
			missed.Figures[i].Value = 1.21
		case f.Phase == "delete" && f.Name == "objects per second":
			missed.Figures[i].Value = 34
		}
	}
	for name, tc := range map[string]struct {
		r    *report.Report
		want []string
	}{
		"met": {complete(), []string{"This run met 26 of 26 targets.", "| Resident memory at rest | at most 150 MB | 150 MB | met |"}},
		"missed": {missed, []string{"This run met 24 of 26 targets.", "| at most 1.2 times | 1.21 times | **missed** |",
			"| at least 35 objects per second | 34 objects per second | **missed** |"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := Write(dir, tc.r); err != nil {
				t.Fatal(err)
			}
			page, err := os.ReadFile(filepath.Join(dir, "performance.md"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range append(tc.want, "- version: bowline v1", "make bench-compare") {
				if !strings.Contains(string(page), want) {
					t.Errorf("the page lacks %q:\n%s", want, page)
				}
			}
			for _, d := range drawings(tc.r.Setting) {
				if _, err := os.Stat(filepath.Join(dir, "performance", d.file)); err != nil || !strings.Contains(string(page), "(performance/"+d.file+")") {
					t.Errorf("%s is not there or not shown: %v", d.file, err)
				}
			}
		})
	}
}

func TestPageOfIncompleteReport(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{report.Start, report.Single, "delete"} {
		r := complete()
		r.Rename(phase, "another")
		if err := Write(t.TempDir(), r); err == nil || !strings.Contains(err.Error(), "of the phase "+phase) {
			t.Errorf("without %s: %v", phase, err)
		}
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	svg := chart("A & B", "s", []bar{{"within", 1, 2}, {"over <", 4, 2}, {"free", 3, 0}, {"none", 0, 0}})
	type element struct{ Name, Fill, Width, Text string }
	var got []element
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{Name: token.Name.Local}
			for _, a := range token.Attr {
				switch a.Name.Local {
				case "fill":
					e.Fill = a.Value
				case "width":
					e.Width = a.Value
				}
			}
			got = append(got, e)
		case xml.CharData:
			got[len(got)-1].Text += strings.TrimSpace(string(token))
		}
	}
	text := func(s string) element { return element{Name: "text", Text: s} }
	tick := element{Name: "rect", Width: "2"}
	want := []element{
		{"svg", textColour, "760", ""}, {"title", "", "", "A & B"}, text("A & B"),
		text("within"), {"rect", withinColour, "75.0", ""}, tick, text("1 s, target 2"),
		text("over <"), {"rect", overColour, "300.0", ""}, tick, text("4 s, target 2"),
		text("free"), {"rect", withinColour, "225.0", ""}, text("3 s"),
		text("none"), {"rect", withinColour, "0.0", ""}, text("0 s"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
