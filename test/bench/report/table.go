// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"
)

// A table has sections with a head each; names stand on the left, numbers on the right.
type table struct{ rows [][]string }

func (t *table) head(phase string, columns ...string) {
	t.rows = append(t.rows, nil, append([]string{strings.ToUpper(phase)}, columns...))
}

func (t *table) row(name string, cells ...string) {
	t.rows = append(t.rows, append([]string{"  " + name}, cells...))
}

func (t *table) write(w io.Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			if i == 0 {
				line = fmt.Sprintf("%-*s", widths[i], cell)
			} else {
				line += fmt.Sprintf("  %*s", widths[i], cell)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}
