// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report stores measurements, prints them as a table, and compares two reports.
//
// A report is a list of figures: numbers with a phase and a name, which includes the unit. A new figure needs one line where it is
// measured and none here.
//
//	r := report.New(report.Setting{Name: "objects", Value: "1000"})
//	r.Add("create", "seconds", 12.5)
//	err := r.WriteTable(os.Stdout)
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// A Report is what one run measured.
type Report struct {
	// Settings under which it was measured, in order.
	Settings []Setting `json:"settings"`
	// Figures in the order in which they were measured.
	Figures []Figure `json:"figures"`
}

// A Setting is a circumstance of the run that figures depend on.
type Setting struct {
	// Name of the setting.
	Name string `json:"name"`
	// Value as a person reads it.
	Value string `json:"value"`
}

// A Figure is a number that was measured.
type Figure struct {
	// Phase of the run to which the figure belongs.
	Phase string `json:"phase"`
	// Name of the figure, with its unit.
	Name string `json:"name"`
	// Value in that unit.
	Value float64 `json:"value"`
}

// New returns a report without figures.
func New(settings ...Setting) *Report { return &Report{Settings: settings} }

// Add notes a figure.
func (r *Report) Add(phase, name string, value float64) {
	r.Figures = append(r.Figures, Figure{Phase: phase, Name: name, Value: value})
}

// Get returns a figure.
func (r *Report) Get(phase, name string) (value float64, ok bool) {
	for _, f := range r.Figures {
		if f.Phase == phase && f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// phases and names are in the order in which they first occurred.
func (r *Report) phases() (phases []string) {
	for _, f := range r.Figures {
		if !slices.Contains(phases, f.Phase) {
			phases = append(phases, f.Phase)
		}
	}
	return phases
}

func (r *Report) names(phase string) (names []string) {
	for _, f := range r.Figures {
		if f.Phase == phase {
			names = append(names, f.Name)
		}
	}
	return names
}

// WriteFile stores the report as JSON.
func (r *Report) WriteFile(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding report: %w", err)
	}
	return os.WriteFile(path, append(content, '\n'), 0o644)
}

// ReadFile reads a report that WriteFile stored.
func ReadFile(path string) (*Report, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("reading report %s: %w", path, err)
	}
	return r, nil
}

// Percentile returns the smallest of the durations that is not exceeded by the given percentage of them, by the
// nearest-rank method; zero for none. It sorts them.
func Percentile(of []time.Duration, percent float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	rank := int(float64(len(of))*percent/100 + 0.9999999)
	return of[min(max(rank, 1), len(of))-1]
}
