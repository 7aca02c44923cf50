// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// A Problem is a position in the source that breaks a rule.
type Problem struct {
	// At is the position.
	At token.Position
	// Rule is the name of the rule.
	Rule string
	// Message describes the problem and what to write instead.
	Message string
}

// Error returns file:line:column: rule: message.
func (p *Problem) Error() string { return fmt.Sprintf("%s: %s: %s", p.At, p.Rule, p.Message) }

// A Rule is one requirement.
type Rule struct {
	// Name of the rule, for the marker +bowline:nolint.
	Name string
	// Requirement is the requirement, with the ids of the patterns that it implements.
	Requirement string
}

// Rules returns all rules, in the order in which they are applied.
func Rules() []Rule {
	var all []Rule
	for _, r := range rules() {
		all = append(all, r.Rule)
	}
	return all
}

// Check returns all problems of the packages that opted in, joined, sorted by position; nil if there are none.
func Check(api *model.API) error {
	found := &findings{seen: map[string]bool{}}
	for _, pkg := range api.Packages {
		if !pkg.OptedIn() {
			continue
		}
		found.markers(pkg)
		for _, k := range pkg.Kinds {
			if k.Source == nil {
				found.kind(k)
			}
		}
	}
	slices.SortFunc(found.problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.At.Filename, b.At.Filename), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column),
			cmp.Compare(a.Rule, b.Rule))
	})
	var all []error
	for _, p := range found.problems {
		all = append(all, p)
	}
	return errors.Join(all...)
}

type findings struct {
	problems []*Problem
	seen     map[string]bool
}

// add adds a problem once, also if several kinds share the type.
func (f *findings) add(at token.Position, rule, message string) {
	p := &Problem{At: at, Rule: rule, Message: message}
	if message != "" && !f.seen[p.Error()] {
		f.seen[p.Error()] = true
		f.problems = append(f.problems, p)
	}
}

func (f *findings) kind(k *model.Kind) {
	f.apply(kinds, k, nil, k.Struct.Comment, k.Struct.At)
	switch k.Role {
	case model.Managed:
		f.fields(settings, k, k.Parameters)
	case model.Claim:
		f.fields(claims, k, k.Spec)
	}
	f.fields(observations, k, k.Observation)
}

// fields applies the rules of a part to all fields of a struct, if it was read.
func (f *findings) fields(of part, k *model.Kind, named model.Ref) {
	if s := k.Lookup(named); s != nil {
		for _, place := range s.Walk() {
			f.apply(of, k, place, place.Field().Comment, place.Field().At)
		}
	}
}

func (f *findings) apply(of part, k *model.Kind, place model.Place, c model.Comment, at token.Position) {
	for _, r := range rules() {
		if r.of&of != 0 && !allowed(c, r.Name) {
			f.add(at, r.Name, r.check(k, place))
		}
	}
}

// allowed is true if the author states a reason to break the rule.
func allowed(c model.Comment, rule string) bool {
	return slices.ContainsFunc(c.Markers, func(m model.Marker) bool {
		name, reason, _ := strings.Cut(m.Value, " ")
		return m.Name == nolintMarker && name == rule && strings.TrimSpace(reason) != ""
	})
}
