// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import "github.com/bowline-dev/bowline/test/bench/report"

// A target is the most that a figure should be, or the least.
type target struct {
	what, phase, figure string
	bound               string
	limit               float64
	unit                string
}

const atMost, atLeast = "at most", "at least"

// targets of Bowline on a machine with two cores.
func targets() []target {
	return []target{
		{"`bowline up` is ready on a new folder", report.Start, "seconds to ready on a new folder", atMost, 0.7, "s"},
		{"`bowline up` is ready on an existing folder", report.Start, "seconds to ready on an existing folder", atMost, 0.5, "s"},
		{"Processor time until it is ready on a new folder", report.Start, "CPU seconds to ready on a new folder", atMost, 2, "s"},
		{"Processor time until it is ready on an existing folder", report.Start, "CPU seconds to ready on an existing folder", atMost, 2, "s"},
		{"Resident memory at rest", report.Start, "MB resident at rest", atMost, 150, "MB"},
		{"Anonymous memory at rest", report.Start, "MB anonymous at rest", atMost, 70, "MB"},
		{"Processor time at rest", report.Start, "percent of a core at rest", atMost, 1, "% of a core"},
		{"Create to Ready, in times of the floor of six requests", report.Ratios, report.RatioOfCreate, atMost, 1.2, "times"},
		{"A single object, median", report.Single, "p50 milliseconds", atMost, 35, "ms"},
		{"A single object, slowest", report.Single, "slowest milliseconds", atMost, 200, "ms"},
		{"Memory of an idle managed resource", "idle", "KB of live heap per object", atMost, 12, "KB"},
		{"Polls at the rate of 5,000 objects each minute", "idle", "percent of a core", atMost, 3, "% of a core"},
		{"Median of a new object beside 5,000 that are polled and 500 that are refused", report.Crowd, "p50 seconds to Ready", atMost, 1, "s"},
		{"99 of 100 new objects beside them", report.Crowd, "p99 seconds to Ready", atMost, 2, "s"},
		{"Definition of a kind without objects, in an API server", report.Definitions, "KB anonymous per definition", atMost, 50, "KB"},
		{"Kind without objects, in `bowline up`", report.Kinds, "KB anonymous per kind", atMost, 50, "KB"},
		{"Object of a Terraform provider (framework), to Ready above the provider's call", report.Framework, report.AboveCall, atMost, 1, "s"},
		{"Object of a Terraform provider (SDKv2), to Ready above the provider's call", report.SDK, report.AboveCall, atMost, 1, "s"},
		{"500 such objects (framework), in the controllers", report.Framework, report.AboveBase, atMost, 80, "MB"},
		{"500 such objects (SDKv2), in the controllers", report.SDK, report.AboveBase, atMost, 80, "MB"},
		{"Process of the provider (framework) above its bare size", report.Framework, report.AboveBare, atMost, 30, "%"},
		{"Process of the provider (SDKv2) above its bare size", report.SDK, report.AboveBare, atMost, 30, "%"},
		{"Writes of polls of such objects (framework)", report.Framework, report.WritesOfPolls, atMost, 0, "writes"},
		{"Writes of polls of such objects (SDKv2)", report.SDK, report.WritesOfPolls, atMost, 0, "writes"},
		{"Deletion", "delete", "objects per second", atLeast, 35, "objects per second"},
		{"Objects left by the deletion", "delete", "objects left", atMost, 0, "objects"},
	}
}

// limit returns the target of a figure; 0 if it has none.
func limit(phase, figure string) float64 {
	for _, t := range targets() {
		if t.phase == phase && t.figure == figure {
			return t.limit
		}
	}
	return 0
}
