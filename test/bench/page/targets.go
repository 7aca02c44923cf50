// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import "github.com/bowline-dev/bowline/test/bench/report"

// A target is the most that a figure should be.
type target struct {
	what, phase, figure string
	most                float64
	unit                string
}

// targets of Bowline on a machine with two cores.
func targets() []target {
	return []target{
		{"`bowline up` is ready on a new folder", report.Start, "seconds to ready on a new folder", 0.7, "s"},
		{"`bowline up` is ready on an existing folder", report.Start, "seconds to ready on an existing folder", 0.5, "s"},
		{"Processor time until it is ready on a new folder", report.Start, "CPU seconds to ready on a new folder", 2, "s"},
		{"Processor time until it is ready on an existing folder", report.Start, "CPU seconds to ready on an existing folder", 2, "s"},
		{"Resident memory at rest", report.Start, "MB resident at rest", 150, "MB"},
		{"Anonymous memory at rest", report.Start, "MB anonymous at rest", 70, "MB"},
		{"Processor time at rest", report.Start, "percent of a core at rest", 1, "% of a core"},
		{"Create to Ready, in times of the floor of six requests", report.Ratios, report.RatioOfCreate, 1.2, "times"},
		{"A single object, median", report.Single, "p50 milliseconds", 35, "ms"},
		{"A single object, slowest", report.Single, "slowest milliseconds", 200, "ms"},
		{"Memory of an idle managed resource", "idle", "KB of live heap per object", 12, "KB"},
		{"Polls at the rate of 5,000 objects each minute", "idle", "percent of a core", 3, "% of a core"},
	}
}

// limit returns the target of a figure; 0 if it has none.
func limit(phase, figure string) float64 {
	for _, t := range targets() {
		if t.phase == phase && t.figure == figure {
			return t.most
		}
	}
	return 0
}
