// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guides runs the guides in docs/guides as they are written: every block of a guide becomes a part of one shell
// script, which is run on a plane of its own, from the checkout.
//
// A block in the language sh is run. One in yaml has its use in a comment in front of it. One in text, or in go, is
// what the block before it prints: each of its lines is to be found, in that order; "..." stands for anything, and any space for
// any other.
//
//	<!-- apply -->          in front of yaml: it is applied
//	<!-- refused: TEXT -->  in front of yaml or sh: it fails, and prints TEXT
//	<!-- shows: TEXT -->    in front of yaml or sh: it prints TEXT, too
//	<!-- first -->          in front of yaml or sh: it is run before all others, since the guide begins with other readers
package guides

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A block of a guide that is run.
type block struct {
	line    int // of the guide, where it begins
	command string
	refused bool
	first   bool     // before all that are not
	shows   []string // lines that it prints, in this order
}

var (
	directive = regexp.MustCompile(`^<!-- (apply|refused|shows|first)(?:: (.*))? -->$`)
	space     = regexp.MustCompile(`\s+`)
)

// parse returns the blocks of a guide in the order in which they are run. Every code block must be of use.
func parse(guide string) ([]block, error) {
	var blocks []block
	next, apply := block{}, false
	lines := strings.Split(guide, "\n")
	for i := 0; i < len(lines); i++ {
		if d := directive.FindStringSubmatch(lines[i]); d != nil {
			apply = apply || d[1] == "apply"
			next.refused = next.refused || d[1] == "refused"
			next.first = next.first || d[1] == "first"
			if d[2] != "" {
				next.shows = append(next.shows, d[2])
			}
			continue
		}
		language, fence := strings.CutPrefix(lines[i], "```")
		if !fence {
			continue
		}
		next.line = i + 1
		body := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the code block has no end", next.line)
		}
		text := strings.Join(lines[body:i], "\n") + "\n"
		switch {
		case language == "sh":
			next.command = text
		case language == "yaml" && (apply || next.refused):
			next.command = "kubectl apply -f - <<'END OF YAML'\n" + text + "END OF YAML\n"
		case (language == "text" || language == "go") && len(blocks) > 0:
			last := &blocks[len(blocks)-1]
			last.shows = append(last.shows, lines[body:i]...)
			continue
		default:
			return nil, fmt.Errorf("line %d: a code block of language %q is not supported here: see package guides", next.line, language)
		}
		blocks = append(blocks, next)
		next, apply = block{}, false
	}
	slices.SortStableFunc(blocks, func(a, b block) int {
		switch {
		case a.first == b.first:
			return 0
		case a.first:
			return -1
		}
		return 1
	})
	return blocks, nil
}

// mark precedes the output of a block.
func mark(b block) string { return fmt.Sprintf("\x01block of line %d\n", b.line) }

// script returns what runs all blocks in one shell, and stops at the first that does not behave as in the guide.
func script(blocks []block) string {
	var s strings.Builder
	s.WriteString("set -euo pipefail\nexec 2>&1\n")
	for _, b := range blocks {
		fmt.Fprintf(&s, "printf '%s'\n", strings.ReplaceAll(mark(b), "\n", `\n`))
		if b.refused {
			fmt.Fprintf(&s, "(\n%s) && { echo 'This was not refused.'; exit 1; }\n", b.command)
		} else {
			s.WriteString(b.command)
		}
	}
	return s.String()
}

// printed returns what a block printed, of the output of the script.
func printed(output string, b block) (text string, ran bool) {
	_, text, ran = strings.Cut(output, mark(b))
	text, _, _ = strings.Cut(text, "\x01")
	return text, ran
}

// missing returns the first of the lines that are to be printed that is not.
func missing(output string, lines []string) (line string, found bool) {
	output = space.ReplaceAllString(output, " ")
	for _, line := range lines {
		parts := strings.Split(space.ReplaceAllString(strings.TrimSpace(line), " "), "...")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		at := regexp.MustCompile("(?s)" + strings.Join(parts, ".*?")).FindStringIndex(output)
		if at == nil {
			return line, true
		}
		output = output[at[1]:]
	}
	return "", false
}
