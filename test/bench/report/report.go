// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report keeps what a run of the bench measured, and shows one report or two side by side.
//
// A figure is a number with a phase and a name, which includes the unit: a new one needs one line where it is measured and none here.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Phases that other packages name, and what a figure of processor time begins with.
const (
	Start         = "start"
	Single        = "single object"
	Crowd         = "new objects beside a crowd"
	Definitions   = "definitions without objects"
	Kinds         = "kinds without objects"
	Framework     = "Terraform provider on terraform-plugin-framework"
	SDK           = "Terraform provider on SDKv2"
	SixRequests   = "floor of six requests"
	ThreeRequests = "floor of three requests"
	FloorOfUpdate = "floor of an update"
	FloorOfDelete = "floor of a deletion"
	Ratios        = "ratios"
	Harness       = "harness"
)

// Settings that other packages name.
const (
	SizeOfCrowd   = "objects of the crowd"
	NumberOfKinds = "kinds without objects"
)

// RatioOfCreate is the figure of the phase Ratios by which creations are judged.
const RatioOfCreate = "create to Ready, times the " + SixRequests + ", seconds"

// Figures of the phases Framework and SDK with a target.
const (
	AboveCall     = "seconds of one object from create to Ready above the provider's call"
	AboveBase     = "MB resident of the controllers above those without a TerraformProvider"
	AboveBare     = "percent of the provider's process above its bare size, on average of these polls"
	WritesOfPolls = "API writes of these polls"
)

// A Report is what one run measured.
type Report struct {
	Settings []Setting `json:"settings"`
	Figures  []Figure  `json:"figures"`
}

// A Setting is a circumstance of the run that figures depend on.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Figure is a number that was measured.
type Figure struct {
	Phase string  `json:"phase"`
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Add adds a figure.
func (r *Report) Add(phase, name string, value float64) {
	r.Figures = append(r.Figures, Figure{phase, name, value})
}

// Get returns a figure, if there is one of the name.
func (r *Report) Get(phase, name string) (value float64, ok bool) {
	for _, f := range r.Figures {
		if f.Phase == phase && f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// Setting returns a setting, or a hyphen.
func (r *Report) Setting(name string) string {
	for _, s := range r.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return "-"
}

// Rename gives a phase another name.
func (r *Report) Rename(phase, name string) {
	for i, f := range r.Figures {
		if f.Phase == phase {
			r.Figures[i].Phase = name
		}
	}
}

// WriteFile stores the report as JSON.
func (r *Report) WriteFile(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding report: %w", err)
	}
	return os.WriteFile(path, append(content, '\n'), 0o644)
}

// Read reads what WriteFile stored.
func Read(path string) (*Report, error) {
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

// AddRatios puts the ratios of phases to their floors first: in seconds, and in CPU seconds, which other load changes little.
func (r *Report) AddRatios() {
	ratios := &Report{}
	for _, of := range []struct{ what, phase, floor string }{
		{"create to Ready", "create", SixRequests}, {"create to Ready", "create", ThreeRequests},
		{"update", "update", FloorOfUpdate}, {"delete", "delete", FloorOfDelete},
	} {
		least, measured := r.Get(of.floor, "seconds")
		if took, ok := r.Get(of.phase, "seconds"); ok && measured {
			name := of.what + ", times the " + of.floor
			ratios.Add(Ratios, name+", seconds", took/least)
			ratios.Add(Ratios, name+", CPU seconds", r.CPUOf(of.phase)/r.CPUOf(of.floor))
		}
	}
	r.Figures = append(ratios.Figures, r.Figures...)
}

// CPUOf returns the processor time that processes used in a phase. Default: that of all.
func (r *Report) CPUOf(phase string, processes ...string) (seconds float64) {
	if len(processes) == 0 {
		processes = []string{"controllers", "API server", Harness}
	}
	for _, process := range processes {
		used, _ := r.Get(phase, process+": CPU seconds")
		seconds += used
	}
	return seconds
}

// Mean returns the settings of the first report, with the mean of each figure over the reports that have it.
func Mean(of []*Report) *Report {
	all := &Report{Settings: of[0].Settings}
	for i, r := range of {
		for _, f := range r.Figures {
			if _, known := all.Get(f.Phase, f.Name); known {
				continue
			}
			sum, n := 0.0, 0.0
			for _, r := range of[i:] {
				if value, ok := r.Get(f.Phase, f.Name); ok {
					sum, n = sum+value, n+1
				}
			}
			all.Add(f.Phase, f.Name, sum/n)
		}
	}
	return all
}

// SamePolls is true if both reports polled at the same rate, on which all figures of the phase idle depend.
func SamePolls(a, b *Report) bool {
	const interval = "seconds between polls"
	one, _ := a.Get("idle", interval)
	other, _ := b.Get("idle", interval)
	return one == other
}

// Percentile sorts durations and returns a percentile of them by the nearest-rank method; zero for none.
func Percentile(of []time.Duration, percent float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	rank := int(float64(len(of))*percent/100 + 0.9999999)
	return of[min(max(rank, 1), len(of))-1]
}
