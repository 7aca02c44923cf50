// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A Marker is a line of a comment for programs: +name or +name=value.
type Marker struct {
	// Name without the plus sign, such as immutable.
	Name string
	// Value after the first equals sign, if any.
	Value string
	// At is the position of the marker.
	At token.Position
}

// String returns the marker as it was written.
func (m Marker) String() string {
	if m.Value == "" {
		return "+" + m.Name
	}
	return "+" + m.Name + "=" + m.Value
}

// A Comment is the comment above a declaration.
type Comment struct {
	// Prose is the text without markers, by line, without empty lines at either end.
	Prose []string
	// Markers are the markers, in order.
	Markers []Marker
}

// Has is true if there is a marker of the name.
func (c Comment) Has(name string) bool {
	return slices.ContainsFunc(c.Markers, func(m Marker) bool { return m.Name == name })
}

// Value returns the value of the first marker of the name, empty if there is none.
func (c Comment) Value(name string) string {
	if i := slices.IndexFunc(c.Markers, func(m Marker) bool { return m.Name == name }); i >= 0 {
		return c.Markers[i].Value
	}
	return ""
}

// isOurs is true if there is a marker of bowline.
func (c Comment) isOurs() bool {
	return slices.ContainsFunc(c.Markers, func(m Marker) bool { return strings.HasPrefix(m.Name, "bowline:") })
}

// Text returns the prose as one paragraph.
func (c Comment) Text() string { return strings.TrimSpace(strings.Join(c.Prose, " ")) }

// readComment splits a comment into prose and markers.
func readComment(at func(token.Pos) token.Position, groups ...*ast.CommentGroup) Comment {
	var c Comment
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, line := range group.List {
			text, ok := strings.CutPrefix(line.Text, "//")
			if !ok || isDirective(text) {
				continue
			}
			text = strings.TrimPrefix(text, " ")
			if marker, ok := strings.CutPrefix(strings.TrimSpace(text), "+"); ok && marker != "" {
				name, value, _ := strings.Cut(marker, "=")
				c.Markers = append(c.Markers, Marker{Name: name, Value: value, At: at(line.Pos())})
				continue
			}
			c.Prose = append(c.Prose, text)
		}
	}
	blank := func(line string) bool { return strings.TrimSpace(line) == "" }
	for len(c.Prose) > 0 && blank(c.Prose[0]) {
		c.Prose = c.Prose[1:]
	}
	for len(c.Prose) > 0 && blank(c.Prose[len(c.Prose)-1]) {
		c.Prose = c.Prose[:len(c.Prose)-1]
	}
	return c
}

// isDirective is true for the text of comments such as //go:generate.
func isDirective(text string) bool {
	return strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "nolint")
}
