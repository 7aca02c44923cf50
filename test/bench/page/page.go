// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package page writes docs/performance.md and its charts from a report of the bench.
package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bowline-dev/bowline/test/bench/report"
)

// A drawing is a chart of figures.
type drawing struct {
	file, heading, text, title, unit string
	bars                             []drawnBar
}

type drawnBar struct{ label, phase, figure string }

// drawings of the page, for the settings of a report.
func drawings(setting func(string) string) []drawing {
	const requests = "API requests per object"
	objects, crowd, kinds := setting("objects"), setting(report.SizeOfCrowd), setting(report.NumberOfKinds)
	return []drawing{
		{"start.svg", "Start", "`bowline up` starts on a new data folder, stops, and starts again on the same one.",
			"From start to ready", "s", []drawnBar{
				{"new folder", report.Start, "seconds to ready on a new folder"},
				{"existing folder", report.Start, "seconds to ready on an existing folder"},
				{"new folder, processor time", report.Start, "CPU seconds to ready on a new folder"},
				{"existing folder, processor time", report.Start, "CPU seconds to ready on an existing folder"},
			}},
		{"memory.svg", "Memory", "The same process, 15 s after it was ready on the existing folder. Anonymous memory is the part that no file holds.",
			"bowline up at rest", "MB", []drawnBar{
				{"resident", report.Start, "MB resident at rest"}, {"anonymous", report.Start, "MB anonymous at rest"},
			}},
		{"creation.svg", "Creation", "From the first request until all objects are Ready. A floor is a bare client that sends only the requests " +
			"which a creation needs, and has no controller: `go doc ./test/bench` lists them.",
			objects + " objects, created to Ready", "s", []drawnBar{
				{"Bowline", "create", "seconds"}, {report.SixRequests, report.SixRequests, "seconds"}, {report.ThreeRequests, report.ThreeRequests, "seconds"},
			}},
		{"single.svg", "A single object", "Objects are created one after the other, each when the one before is Ready, while the controllers " +
			"poll " + objects + " others.",
			"Created to Ready", "ms", []drawnBar{
				{"median", report.Single, "p50 milliseconds"}, {"99 of 100 are faster", report.Single, "p99 milliseconds"},
				{"slowest", report.Single, "slowest milliseconds"},
			}},
		{"crowd.svg", "New objects beside a crowd", "The same while the controllers poll " + crowd + " others each minute, and the external system " +
			"refuses to create a tenth as many, which the controllers try again at least each minute.",
			"Created to Ready, beside " + crowd + " others", "s", []drawnBar{
				{"median", report.Crowd, "p50 seconds to Ready"}, {"99 of 100 are faster", report.Crowd, "p99 seconds to Ready"},
				{"slowest", report.Crowd, "slowest seconds to Ready"},
			}},
		{"kinds.svg", "Kinds without objects", "Anonymous memory for each of " + kinds + " kinds that are installed and have no objects: of the definition " +
			"in an API server, and of the definition and the controllers in `bowline up`.",
			"A kind without objects", "KB", []drawnBar{
				{"API server", report.Definitions, "KB anonymous per definition"}, {"bowline up", report.Kinds, "KB anonymous per kind"},
				{"bowline up, in use", report.Kinds, "KB of live heap per kind"},
			}},
		{"requests.svg", "Requests", "What the controllers send to the API server; the requests of users are not among them.",
			"Requests of the controllers for each object", "", []drawnBar{
				{"create to Ready", "create", requests}, {"polls, nothing changed", "idle", requests}, {"restart", "restart", requests},
				{"update", "update", requests}, {"delete", "delete", requests},
			}},
	}
}

// Write writes performance.md and its charts into a folder.
func Write(folder string, r *report.Report) error {
	var page strings.Builder
	fmt.Fprintf(&page, "# Performance\n\n`make bench-report` measured and wrote this page. Its figures are the means of the rounds of one run, on this machine:\n\n")
	for _, s := range r.Settings {
		fmt.Fprintf(&page, "- %s: %s\n", s.Name, s.Value)
	}
	others, _ := r.Get("create", "everything else: CPU seconds")
	fmt.Fprintf(&page, "\nWhile the objects were created, other programs of the machine used %s s of processor time.\n", report.Number(others))
	if err := writeTargets(&page, r); err != nil {
		return err
	}
	charts := filepath.Join(folder, "performance")
	if err := os.MkdirAll(charts, 0o755); err != nil {
		return err
	}
	for _, d := range drawings(r.Setting) {
		var bars []bar
		for _, b := range d.bars {
			value, ok := r.Get(b.phase, b.figure)
			if !ok {
				return lacks(b.phase, b.figure)
			}
			bars = append(bars, bar{b.label, value, limit(b.phase, b.figure)})
		}
		if err := os.WriteFile(filepath.Join(charts, d.file), []byte(chart(d.title, d.unit, bars)), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n![%s](performance/%s)\n", d.heading, d.text, d.title, d.file)
	}
	page.WriteString(howToRepeat + "```\n")
	if err := report.Write(&page, r); err != nil {
		return err
	}
	page.WriteString("```\n")
	return os.WriteFile(filepath.Join(folder, "performance.md"), []byte(page.String()), 0o644)
}

const howToRepeat = `
## Repeat it

    make bench                    # the figures
    make bench N=5000             # of another number of objects
    make bench-compare REF=v1.0   # of another commit and this one in turn, and the changes
    make bench-report             # this page

The API server is ` + "`bowline apiserver`" + `, the controllers are a process of their own. Their provider is written as the guide
[Writing a provider](guides/writing-a-provider.md) describes, with credentials in a Secret; its external system is in memory and answers at
once. Memory of a managed resource is that which the controllers have in use after a collection of garbage, compared with controllers
without objects. The kinds without objects are copies of one definition, without Go types. The processor time of polls is that of controllers and API server together.

## All figures

`

// writeTargets writes a table of all targets, met or missed.
func writeTargets(page *strings.Builder, r *report.Report) error {
	var rows strings.Builder
	met := 0
	for _, t := range targets() {
		value, ok := r.Get(t.phase, t.figure)
		if !ok {
			return lacks(t.phase, t.figure)
		}
		verdict := "**missed**"
		if t.bound == atMost && value <= t.limit || t.bound == atLeast && value >= t.limit {
			verdict, met = "met", met+1
		}
		fmt.Fprintf(&rows, "| %s | %s %s %s | %s %s | %s |\n", t.what, t.bound, report.Number(t.limit), t.unit, report.Number(value), t.unit, verdict)
	}
	fmt.Fprintf(page, "\n## Targets\n\nThis run met %d of %d targets.\n\n| | Target | Measured | |\n|---|---|---|---|\n%s",
		met, len(targets()), rows.String())
	return nil
}

func lacks(phase, figure string) error {
	return fmt.Errorf("the report lacks the figure %q of the phase %s: measure all that bench --help lists", figure, phase)
}
