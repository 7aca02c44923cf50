// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A report is what one run measured. A figure is a number with a phase and a name, which includes the unit: a new one needs one line
// where it is measured and none here.
type report struct {
	Settings []setting `json:"settings"`
	Figures  []figure  `json:"figures"`
}

// A setting is a circumstance of the run that figures depend on.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type figure struct {
	Phase string  `json:"phase"`
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

func (r *report) add(phase, name string, value float64) {
	r.Figures = append(r.Figures, figure{phase, name, value})
}

func (r *report) get(phase, name string) (value float64, ok bool) {
	for _, f := range r.Figures {
		if f.Phase == phase && f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

func (r *report) setting(name string) string {
	for _, s := range r.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return "-"
}

// writeFile stores the report as JSON.
func (r *report) writeFile(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding report: %w", err)
	}
	return os.WriteFile(path, append(content, '\n'), 0o644)
}

func readReport(path string) (*report, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &report{}
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("reading report %s: %w", path, err)
	}
	return r, nil
}

// writeReports shows the settings, then the figures phase by phase: those of one report, or those of two and the change in percent.
// What only one of them has is shown too.
func writeReports(w io.Writer, all ...*report) error {
	columns := []string{""}
	if len(all) == 2 {
		columns = []string{"before", "after", "change"}
	}
	var rows [][]string
	var lines, settings, phases []string
	names := map[string][]string{}
	for _, r := range all {
		for _, s := range r.Settings {
			settings = appendNew(settings, s.Name)
		}
		for _, f := range r.Figures {
			phases, names[f.Phase] = appendNew(phases, f.Phase), appendNew(names[f.Phase], f.Name)
		}
	}
	for _, name := range settings {
		var values []string
		for _, r := range all {
			values = append(values, r.setting(name))
		}
		lines = append(lines, name+": "+strings.Join(slices.Compact(values), " -> "))
	}
	for _, phase := range phases {
		rows = append(rows, nil, append([]string{strings.ToUpper(phase)}, columns...))
		for _, name := range names[phase] {
			cells, values := []string{"  " + name}, []float64{}
			for _, r := range all {
				value, ok := r.get(phase, name)
				if !ok {
					cells = append(cells, "-")
					continue
				}
				cells, values = append(cells, number(value)), append(values, value)
			}
			switch {
			case len(values) == 2:
				cells = append(cells, change(values[0], values[1]))
			case len(all) == 2:
				cells = append(cells, "-")
			}
			rows = append(rows, cells)
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(append(lines, aligned(rows)...), "\n"))
	return err
}

func appendNew(all []string, s string) []string {
	if slices.Contains(all, s) {
		return all
	}
	return append(all, s)
}

// aligned returns the rows as lines, with names on the left and the other cells on the right of their columns.
func aligned(rows [][]string) (lines []string) {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			if i == 0 {
				line = fmt.Sprintf("%-*s", widths[i], cell)
			} else {
				line += fmt.Sprintf("  %*s", widths[i], cell)
			}
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// change from one value to another in percent.
func change(before, after float64) string {
	switch before {
	case after:
		return "0 %"
	case 0:
		return "from 0"
	}
	return fmt.Sprintf("%+.1f %%", (after-before)/math.Abs(before)*100)
}

// number shows three digits or more, and no more decimals than these need.
func number(value float64) string {
	if value == 0 || math.Abs(value) >= 100 || value == math.Trunc(value) {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(value))))
	text := strconv.FormatFloat(value, 'f', min(decimals, 6), 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// percentile sorts durations and returns a percentile of them by the nearest-rank method; zero for none.
func percentile(of []time.Duration, percent float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	rank := int(float64(len(of))*percent/100 + 0.9999999)
	return of[min(max(rank, 1), len(of))-1]
}
