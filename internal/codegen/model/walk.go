// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
)

// A Place is a field together with the fields that lead to it from a struct.
type Place []*Field

// Field returns the field itself.
func (p Place) Field() *Field { return p[len(p)-1] }

// Path returns the names in JSON, joined by dots. Items of lists and maps have no name of their own.
func (p Place) Path() string {
	var names []string
	for _, f := range p {
		if f.JSON != "" {
			names = append(names, f.JSON)
		}
	}
	return strings.Join(names, ".")
}

// Walk returns all fields of a struct and of the structs below it that were read, each after the one that holds it.
func (s *Struct) Walk() []Place { return s.walk(nil, nil) }

func (s *Struct) walk(above Place, seen []*Struct) []Place {
	if slices.Contains(seen, s) {
		return nil // a type that holds itself
	}
	var all []Place
	for _, f := range s.Fields {
		at := append(slices.Clone(above), f)
		if !f.Embedded {
			all = append(all, at)
		}
		if below := f.Below(); below != nil {
			all = append(all, below.walk(at, append(slices.Clone(seen), s))...)
		}
	}
	return all
}

// sibling returns the field of a name beside the one of the place.
func (p Place) sibling(names ...string) *Field {
	for _, name := range names {
		if f := p.Field().Struct.Field(name); f != nil {
			return f
		}
	}
	return nil
}

// Markers of references, as authors of the ecosystem know them.
const (
	referenceMarker = "crossplane:generate:reference"
	// ReferenceType names the kind that a field refers to.
	ReferenceType      = referenceMarker + ":type"
	referenceExtractor = referenceMarker + ":extractor"
	referenceRefName   = referenceMarker + ":refFieldName"
	referenceSelector  = referenceMarker + ":selectorFieldName"
)

// A Reference is a field whose value can be taken from another object (R158).
type Reference struct {
	// Place of the field below the parameters.
	Place Place
	// Ref and Selector are the fields beside it; nil where the author did not declare them.
	Ref, Selector *Field
	// Target is the type of the kind that is referred to, in the scope of the referring kind. It has no name if there is
	// no such kind.
	Target Ref
	// Extractor is the call that takes the value from the target, empty for its external name: Import is the package of
	// the function, Name the call.
	Extractor Ref
}

// References returns the references among the settings of a managed kind.
func (k *Kind) References() []Reference {
	parameters := k.Lookup(k.Parameters)
	if parameters == nil {
		return nil
	}
	var all []Reference
	for _, place := range parameters.Walk() {
		f := place.Field()
		target, ok := f.Comment.Get(ReferenceType)
		if !ok {
			continue
		}
		r := Reference{Place: place, Target: k.target(f, target.Value), Extractor: extractor(f)}
		r.Ref = place.sibling(RefNames(f)...)
		r.Selector = place.sibling(SelectorNames(f)...)
		all = append(all, r)
	}
	return all
}

// RefNames returns the names that the reference beside a field may have, the best first.
func RefNames(f *Field) []string {
	if name := f.Comment.Value(referenceRefName); name != "" {
		return []string{name}
	}
	if f.Type.List {
		return []string{strings.TrimSuffix(f.Name, "s") + "Refs", f.Name + "Refs"}
	}
	return []string{f.Name + "Ref"}
}

// SelectorNames returns the names that the selector beside a field may have, the best first.
func SelectorNames(f *Field) []string {
	if name := f.Comment.Value(referenceSelector); name != "" {
		return []string{name}
	}
	if f.Type.List {
		return []string{strings.TrimSuffix(f.Name, "s") + "Selector", f.Name + "Selector"}
	}
	return []string{f.Name + "Selector"}
}

// target finds the kind that a marker names, Kind or import/path.Kind, in the scope of the referring kind.
func (k *Kind) target(f *Field, value string) Ref {
	named := Ref{f.Struct.Package.Path, value}
	if i := strings.LastIndex(value, "."); i >= 0 {
		named = Ref{value[:i], value[i+1:]}
	}
	first := k.Package.API.Package(named.Import)
	if first == nil {
		return named // of another API: the author knows
	}
	for _, pkg := range k.Package.API.Packages {
		if pkg != first && pkg.Source != first {
			continue
		}
		if found := pkg.Kind(named.Name); found != nil && found.Scope == k.Scope {
			return Ref{pkg.Path, named.Name}
		}
	}
	return Ref{}
}

func extractor(f *Field) Ref {
	call := f.Comment.Value(referenceExtractor)
	head, arguments, _ := strings.Cut(call, "(")
	i := strings.LastIndex(head, ".")
	if call == "" || i < 0 {
		return Ref{Import: "", Name: call}
	}
	return Ref{head[:i], head[i+1:] + "(" + arguments}
}
