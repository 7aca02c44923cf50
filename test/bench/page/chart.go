// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"html"
	"strings"

	"github.com/bowline-dev/bowline/test/bench/report"
)

// A bar of a chart. A limit of 0 is none.
type bar struct {
	label        string
	value, limit float64
}

// Sizes in pixels, and colours that have enough contrast with both a white and a black page.
const (
	chartWidth, rowHeight, barHeight = 760, 30, 16
	barsBegin, barsWidth             = 270, 300

	textColour, withinColour, overColour = "#767e88", "#3f83d6", "#cf6f1e"
)

// chart returns horizontal bars as an SVG image. A line marks the limit of a bar; a bar that is over its limit has another colour.
func chart(title, unit string, bars []bar) string {
	longest := 0.0
	for _, b := range bars {
		longest = max(longest, b.value, b.limit)
	}
	width := func(value float64) float64 { return barsWidth * value / max(longest, 1e-9) }
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" role="img" font-family="sans-serif" font-size="13" fill="%s">`+"\n",
		chartWidth, rowHeight*(len(bars)+1), textColour)
	fmt.Fprintf(&svg, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&svg, `<text x="0" y="18" font-weight="bold">%s</text>`+"\n", html.EscapeString(title))
	for i, b := range bars {
		top, colour, value := rowHeight*(i+1), withinColour, report.Number(b.value)+" "+unit
		if b.limit > 0 {
			value += ", target " + report.Number(b.limit)
		}
		if b.limit > 0 && b.value > b.limit {
			colour = overColour
		}
		fmt.Fprintf(&svg, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", barsBegin-10, top+barHeight-3, html.EscapeString(b.label))
		fmt.Fprintf(&svg, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", barsBegin, top, width(b.value), barHeight, colour)
		if b.limit > 0 {
			fmt.Fprintf(&svg, `<rect x="%.1f" y="%d" width="2" height="%d"/>`+"\n", barsBegin+width(b.limit)-1, top-3, barHeight+6)
		}
		fmt.Fprintf(&svg, `<text x="%.1f" y="%d">%s</text>`+"\n", barsBegin+width(max(b.value, b.limit))+10, top+barHeight-3, html.EscapeString(value))
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}
