// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
)

// A Place is the path of fields from a struct to a field.
type Place []*Field

// Field returns the field itself.
func (p Place) Field() *Field { return p[len(p)-1] }

// Path returns the names in JSON, joined by dots. Items of lists and maps have no name.
func (p Place) Path() string {
	var names []string
	for _, f := range p {
		if f.JSON != "" {
			names = append(names, f.JSON)
		}
	}
	return strings.Join(names, ".")
}

// Walk returns all fields of a struct and of the structs below it, each after its parent.
func (s *Struct) Walk() []Place { return s.walk(nil, nil) }

func (s *Struct) walk(above Place, seen []*Struct) []Place {
	if slices.Contains(seen, s) {
		return nil // A recursive type.
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

// Markers of references, which are those of Crossplane.
const (
	referenceMarker = "crossplane:generate:reference"
	// ReferenceType is the marker with the kind that a field refers to.
	ReferenceType      = referenceMarker + ":type"
	referenceExtractor = referenceMarker + ":extractor"
	referenceRefName   = referenceMarker + ":refFieldName"
	referenceSelector  = referenceMarker + ":selectorFieldName"
)

// A Reference is a field whose value can be resolved from another object (R158).
type Reference struct {
	// Place of the field below the parameters.
	Place Place
	// Ref and Selector are the fields beside it; nil if the author did not declare them.
	Ref, Selector *Field
	// Target is the type of the referenced kind, in the scope of the referring kind. It has no name if there is no such kind.
	Target Ref
	// Extractor is the call that returns the value of the target: Import is the package of the function, Name the call. It is empty
	// for the external name.
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
		if !f.Comment.Has(ReferenceType) {
			continue
		}
		all = append(all, Reference{
			Place: place, Ref: place.sibling(RefNames(f)...), Selector: place.sibling(SelectorNames(f)...),
			Target: k.target(f, f.Comment.Value(ReferenceType)), Extractor: extractor(f),
		})
	}
	return all
}

// RefNames returns the possible names of the reference of a field, the preferred one first.
func RefNames(f *Field) []string { return companionNames(f, referenceRefName, "Ref", "Refs") }

// SelectorNames returns the possible names of the selector of a field, the preferred one first.
func SelectorNames(f *Field) []string {
	return companionNames(f, referenceSelector, "Selector", "Selector")
}

// companionNames returns the name of the marker, or else those with the suffix for a single value or for a list.
func companionNames(f *Field, marker, single, list string) []string {
	if name := f.Comment.Value(marker); name != "" {
		return []string{name}
	}
	if f.Type.List {
		return []string{strings.TrimSuffix(f.Name, "s") + list, f.Name + list}
	}
	return []string{f.Name + single}
}

// target returns the kind of a marker, Kind or import/path.Kind, in the scope of the referring kind.
func (k *Kind) target(f *Field, value string) Ref {
	named := Ref{f.Struct.Package.Path, value}
	if i := strings.LastIndex(value, "."); i >= 0 {
		named = Ref{value[:i], value[i+1:]}
	}
	author := k.Package.API.Package(named.Import)
	if author == nil {
		return named // Of another API, which is not read.
	}
	for _, pkg := range k.Package.API.Packages {
		if found := pkg.Kind(named.Name); (pkg == author || pkg.Source == author) && found != nil && found.Scope == k.Scope {
			return Ref{pkg.Path, named.Name}
		}
	}
	return Ref{}
}

func extractor(f *Field) Ref {
	call := f.Comment.Value(referenceExtractor)
	head, arguments, _ := strings.Cut(call, "(")
	i := strings.LastIndex(head, ".")
	if i < 0 {
		return Ref{Name: call}
	}
	return Ref{head[:i], head[i+1:] + "(" + arguments}
}
