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

// A Problem is a mistake at a place in the source.
type Problem struct {
	// At is where it is.
	At token.Position
	// Rule that finds it.
	Rule string
	// Message says what to do.
	Message string
}

// Error returns file:line:column: rule: message.
func (p *Problem) Error() string { return fmt.Sprintf("%s: %s: %s", p.At, p.Rule, p.Message) }

// A Rule is one thing that is looked for.
type Rule struct {
	// Name of the rule, for the marker +bowline:nolint.
	Name string
	// Says what it demands, with the pattern that demands it.
	Says string
}

// Rules returns all rules, in the order in which they are applied.
func Rules() []Rule {
	var all []Rule
	for _, r := range kindRules() {
		all = append(all, r.Rule)
	}
	for _, r := range slices.Concat(settingRules(), claimRules(), observationRules()) {
		if !slices.Contains(all, r.Rule) {
			all = append(all, r.Rule)
		}
	}
	return append(all, markerRule(), nolintRule())
}

// A fieldRule judges a field of the settings or of the observation: it returns what to do, empty if all is well.
type fieldRule struct {
	Rule
	judge func(k *model.Kind, at model.Place) string
}

// A kindRule judges a kind as a whole.
type kindRule struct {
	Rule
	judge func(k *model.Kind) string
}

// Check returns all problems of an API's packages that opted in, joined, sorted by place; nil if there are none.
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

// add notes a problem once, however many kinds share the type.
func (f *findings) add(at token.Position, rule, message string) {
	p := &Problem{At: at, Rule: rule, Message: message}
	if message != "" && !f.seen[p.Error()] {
		f.seen[p.Error()] = true
		f.problems = append(f.problems, p)
	}
}

func (f *findings) kind(k *model.Kind) {
	for _, r := range kindRules() {
		if !allowed(k.Struct.Comment, r.Name) {
			f.add(k.Struct.At, r.Name, r.judge(k))
		}
	}
	if parameters := k.Lookup(k.Parameters); parameters != nil && k.Role == model.Managed {
		f.fields(k, parameters, settingRules())
	}
	if spec := k.Lookup(k.Spec); spec != nil && k.Role == model.Claim {
		f.fields(k, spec, claimRules())
	}
	if observation := k.Lookup(k.Observation); observation != nil {
		f.fields(k, observation, observationRules())
	}
}

func (f *findings) fields(k *model.Kind, s *model.Struct, rules []fieldRule) {
	for _, place := range s.Walk() {
		for _, r := range rules {
			if !allowed(place.Field().Comment, r.Name) {
				f.add(place.Field().At, r.Name, r.judge(k, place))
			}
		}
	}
}

// allowed is true if the author says why a rule is wrong here.
func allowed(c model.Comment, rule string) bool {
	return slices.ContainsFunc(c.Markers, func(m model.Marker) bool {
		name, reason, _ := strings.Cut(m.Value, " ")
		return m.Name == nolintMarker && name == rule && strings.TrimSpace(reason) != ""
	})
}
