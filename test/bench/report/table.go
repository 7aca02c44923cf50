// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Write shows the settings, then the figures phase by phase: those of one report, or those of two and the change in percent.
// What only one of them has is shown too.
func Write(w io.Writer, all ...*Report) error {
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
			values = append(values, r.Setting(name))
		}
		lines = append(lines, name+": "+strings.Join(slices.Compact(values), " -> "))
	}
	if len(all) == 2 {
		lines = append(lines, aligned(ratios(all[0], all[1]))...)
	}
	for _, phase := range phases {
		rows = append(rows, nil, append([]string{strings.ToUpper(phase)}, columns...))
		for _, name := range names[phase] {
			cells, values := []string{"  " + name}, []float64{}
			for _, r := range all {
				value, ok := r.Get(phase, name)
				if !ok {
					cells = append(cells, "-")
					continue
				}
				cells, values = append(cells, Number(value)), append(values, value)
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

// headlines are the figures whose ratios a comparison shows first.
func headlines() []string {
	return []string{
		"seconds to ready on a new folder", "seconds to ready on an existing folder", "MB resident at rest", "MB anonymous at rest",
		"percent of a core at rest", "seconds", "seconds from start to all observed", "p50 milliseconds", "API requests per object",
		"controllers: CPU seconds", "controllers: peak MB anonymous", "KB of live heap per object", "p50 seconds to Ready", "p99 seconds to Ready",
		"KB anonymous per definition", "KB anonymous per kind",
	}
}

// ratios returns the rows with the ratios of two reports: less than 1 is less than before.
func ratios(before, after *Report) [][]string {
	rows := [][]string{nil, {"RATIOS", "after / before"}}
	for _, f := range before.Figures {
		now, ok := after.Get(f.Phase, f.Name)
		if !ok || f.Value == 0 || !slices.Contains(headlines(), f.Name) || strings.HasSuffix(f.Phase, "at once") {
			continue
		}
		rows = append(rows, []string{"  " + f.Phase + ": " + f.Name, Number(now / f.Value)})
	}
	return rows
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

// Number shows three digits or more, and no more decimals than these need.
func Number(value float64) string {
	if value == 0 || math.Abs(value) >= 100 || value == math.Trunc(value) {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(value))))
	text := strconv.FormatFloat(value, 'f', min(decimals, 6), 64)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
