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

// WriteTable shows the settings, then the figures phase by phase.
func (r *Report) WriteTable(w io.Writer) error {
	for _, s := range r.Settings {
		if _, err := fmt.Fprintf(w, "%s: %s\n", s.Name, s.Value); err != nil {
			return err
		}
	}
	t := &table{}
	for _, phase := range r.phases() {
		t.head(phase, "")
		for _, f := range r.Figures {
			if f.Phase == phase {
				t.row(f.Name, number(f.Value))
			}
		}
	}
	return t.write(w)
}

// WriteComparison shows the figures of two reports side by side, with the change in percent. What only one of them has
// is shown too.
func WriteComparison(w io.Writer, a, b *Report) error {
	for _, name := range settingNames(a, b) {
		before, after := a.setting(name), b.setting(name)
		if before != after {
			before = fmt.Sprintf("%s -> %s", before, after)
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", name, before); err != nil {
			return err
		}
	}
	t := &table{}
	for _, phase := range union(a.phases(), b.phases()) {
		t.head(phase, "before", "after", "change")
		for _, name := range union(a.names(phase), b.names(phase)) {
			before, hadIt := a.Get(phase, name)
			after, hasIt := b.Get(phase, name)
			t.row(name, optional(before, hadIt), optional(after, hasIt), change(before, after, hadIt && hasIt))
		}
	}
	return t.write(w)
}

func (r *Report) setting(name string) string {
	for _, s := range r.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return "-"
}

func settingNames(reports ...*Report) (names []string) {
	for _, r := range reports {
		for _, s := range r.Settings {
			names = append(names, s.Name)
		}
	}
	return union(names, nil)
}

// union is what a or b has, once each, in the order of a and then b.
func union(a, b []string) (all []string) {
	for _, s := range slices.Concat(a, b) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

func optional(value float64, ok bool) string {
	if !ok {
		return "-"
	}
	return number(value)
}

// change from one value to another in percent.
func change(before, after float64, comparable bool) string {
	switch {
	case !comparable:
		return "-"
	case before == after:
		return "0 %"
	case before == 0:
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
