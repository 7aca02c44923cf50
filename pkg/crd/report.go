// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"
	"strings"
)

// A Report is what Apply did with each definition, by name, in the order given.
type Report struct {
	Applied   []string // created or changed
	Unchanged []string // up to date
	Skipped   []Skipped
}

// Skipped is a definition that Apply did not change although it differs.
type Skipped struct {
	Name   string // of the CustomResourceDefinition
	Reason string // and what to do, for people
}

// String is one line for each skipped definition, or a count if there is none.
func (r Report) String() string {
	if len(r.Skipped) == 0 {
		return fmt.Sprintf("%d applied, %d unchanged", len(r.Applied), len(r.Unchanged))
	}
	var lines []string
	for _, s := range r.Skipped {
		lines = append(lines, fmt.Sprintf("custom resource definition %s is skipped: %s", s.Name, s.Reason))
	}
	return strings.Join(lines, "\n")
}

func (r *Report) add(name string, d decision) {
	switch {
	case d.skip != "":
		r.Skipped = append(r.Skipped, Skipped{Name: name, Reason: d.skip})
	case d.write:
		r.Applied = append(r.Applied, name)
	default:
		r.Unchanged = append(r.Unchanged, name)
	}
}

func (r Report) skipped(name string) bool {
	return slices.ContainsFunc(r.Skipped, func(s Skipped) bool { return s.Name == name })
}
