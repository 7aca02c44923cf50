// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Paths of packages whose types define the role of a kind.
const (
	CommonPath = "github.com/bowline-dev/bowline/apis/common/v1"
	MetaPath   = "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Scope is the scope of a kind.
type Scope string

// Scopes, as in the marker +bowline:scopes and in custom resource definitions.
const (
	Cluster    Scope = "Cluster"
	Namespaced Scope = "Namespaced"
)

// A Role is the purpose of a kind. It determines the methods (T12).
type Role string

// Roles of kinds.
const (
	Managed        Role = "managed resource"
	ProviderConfig Role = "provider configuration"
	Claim          Role = "claim"
	Class          Role = "class"
	Target         Role = "target"
	Workload       Role = "workload"
	Platform       Role = "platform" // how the platform itself works
)

// recognitions is the table to extend when a role is added: what the spec, or the template of specs, embeds.
var recognitions = []struct {
	embedded string
	role     Role
	scope    Scope
}{
	{"ResourceSpec", Managed, Cluster},
	{"NamespacedResourceSpec", Managed, Namespaced},
	{"ProviderSpec", ProviderConfig, Cluster},
	{"ResourceClaimSpec", Claim, Namespaced},
	{"ClassSpecTemplate", Class, Cluster},
	{"TargetSpec", Target, Namespaced},
}

// A Ref names a type, of the package itself or another.
type Ref struct {
	Import string // path of the package that declares the type
	Name   string
}

// A Kind is a root type of an API.
type Kind struct {
	Name    string // of the kind and of its Go type
	Role    Role
	Scope   Scope
	Package *Package
	Struct  *Struct // declaration of the author: in another package, for a kind whose Source is set
	// Source is the kind that this one is generated from: that of the first scope, or the managed kind of a class. It is nil for a
	// kind that the author declared.
	Source       *Kind
	Spec, Status Ref // types of the fields; Spec is that of the specTemplate of a class
	// Parameters, Init and Observation are the types of spec.forProvider, spec.initProvider and status.atProvider of a
	// managed resource. Init has no name if the author's spec has no such field. A class only has Parameters.
	Parameters, Init, Observation Ref
	InitPointer                   bool // the author's spec.initProvider is a pointer
}

// Noun returns the name for use in a sentence: node group for NodeGroup, DB instance for DBInstance.
func (k *Kind) Noun() string {
	var words []string
	runes := []rune(k.Name)
	for start, i := 0, 1; i <= len(runes); i++ {
		if i < len(runes) && !begins(runes, i) {
			continue
		}
		word := string(runes[start:i])
		if len(word) == 1 || strings.ToUpper(word) != word {
			word = strings.ToLower(word)
		}
		words, start = append(words, word), i
	}
	return strings.Join(words, " ")
}

// begins is true if a word begins at the index: at an upper case letter after or before a lower case letter.
func begins(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	return !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// Lookup returns the struct that a reference names, nil if it was not read.
func (k *Kind) Lookup(r Ref) *Struct {
	if pkg := k.Package.API.Package(r.Import); pkg != nil {
		return pkg.Struct(r.Name)
	}
	return nil
}

// specOf returns the field that defines the role of a kind: a class has specTemplate instead of spec (K21).
func specOf(s *Struct) *Field { return cmp.Or(s.Field("SpecTemplate"), s.Field("Spec")) }

func readKind(s *Struct) *Kind {
	if !s.Embeds(MetaPath, "TypeMeta") || !s.Embeds(MetaPath, "ObjectMeta") || specOf(s) == nil {
		return nil
	}
	k := &Kind{Name: s.Name, Package: s.Package, Struct: s, Scope: Cluster}
	k.Spec, k.Status = refOf(specOf(s), s.Package), refOf(s.Field("Status"), s.Package)
	scopes := Scopes(s)
	spec := k.Lookup(k.Spec)
	switch {
	case s.Comment.Has("bowline:providerconfig"):
		k.Role = ProviderConfig
	case s.Comment.Has("bowline:workload"):
		k.Role, k.Scope = Workload, Namespaced
	case s.Comment.Has("bowline:platform"):
		k.Role = Platform
	case spec == nil && s.Field("SpecTemplate") != nil:
		k.Role = Class
	case spec == nil && len(scopes) > 0:
		k.Role = Managed
	case spec != nil:
		for _, r := range recognitions {
			if spec.Embeds(CommonPath, r.embedded) {
				k.Role, k.Scope = r.role, r.scope
			}
		}
	}
	if k.Role == "" {
		return nil
	}
	if len(scopes) > 0 {
		k.Scope = scopes[0]
	}
	switch k.Role {
	case Managed:
		k.readParts(spec)
	case Class:
		k.Parameters = Ref{k.Package.Path, k.MadeName() + "Parameters"}
		if spec != nil {
			k.Parameters = refOf(spec.Field("ForProvider"), spec.Package)
		}
	}
	return k
}

func (k *Kind) readParts(spec *Struct) {
	path := k.Package.Path
	k.Parameters, k.Init = Ref{path, k.Name + "Parameters"}, Ref{path, k.Name + "InitParameters"}
	k.Observation = Ref{path, k.Name + "Observation"}
	if spec != nil {
		k.Parameters, k.Init = refOf(spec.Field("ForProvider"), spec.Package), refOf(spec.Field("InitProvider"), spec.Package)
		k.InitPointer = k.Init.Name != "" && spec.Field("InitProvider").Type.Pointer
	}
	if status := k.Lookup(k.Status); status != nil {
		k.Observation = refOf(status.Field("AtProvider"), status.Package)
	}
}

func refOf(f *Field, in *Package) Ref {
	if f == nil {
		return Ref{}
	}
	return Ref{cmp.Or(f.Type.Import, in.Path), f.Type.Name}
}

// ExplicitScope returns the scope that a marker of kubebuilder sets.
func (k *Kind) ExplicitScope() Scope { return Scope(k.ResourceSetting("scope")) }

// ResourceSetting returns a setting of the marker +kubebuilder:resource, empty if it is not set.
func (k *Kind) ResourceSetting(name string) string {
	for _, m := range k.Struct.Comment.Markers {
		if _, after, found := strings.Cut(m.String(), name+"="); found && strings.HasPrefix(m.Name, "kubebuilder:resource") {
			value, _, _ := strings.Cut(after, ",")
			return value
		}
	}
	return ""
}

// Scopes returns the valid scopes of the marker +bowline:scopes, Cluster first.
func Scopes(s *Struct) []Scope {
	words := strings.Split(s.Comment.Value("bowline:scopes"), ",")
	return slices.DeleteFunc([]Scope{Cluster, Namespaced}, func(scope Scope) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return strings.TrimSpace(word) == string(scope) })
	})
}

const classSuffix = "Class"

// ClassMarker requests a class for a managed kind. Its value is the claim kinds that the class satisfies.
const ClassMarker = "bowline:class"

// DataMarker declares that people store data in the external resources of a managed kind.
const DataMarker = "bowline:holdsData"

// ClaimsMarker has the claim kinds that a class of the author satisfies.
const ClaimsMarker = "bowline:claims"

// ClassName returns the name of a managed kind's class.
func (k *Kind) ClassName() string { return k.Name + classSuffix }

// MadeName returns the name of the managed kind of a class. The kind may not exist.
func (k *Kind) MadeName() string { return strings.TrimSuffix(k.Name, classSuffix) }

// ManagedKind returns the managed kind of a class, nil if its package has none of the name.
func (k *Kind) ManagedKind() *Kind {
	name, ok := strings.CutSuffix(k.Name, classSuffix)
	if of := k.Package.Kind(name); ok && k.Role == Class && of != nil && of.Role == Managed {
		return of
	}
	return nil
}

// ClaimKinds returns the claim kinds that a class satisfies, each as Kind.group, in the order of the marker.
func (k *Kind) ClaimKinds() []string {
	value := k.Struct.Comment.Value(ClaimsMarker)
	if of := k.ManagedKind(); value == "" && of != nil {
		value = of.Struct.Comment.Value(ClassMarker)
	}
	var kinds []string
	for kind := range strings.SplitSeq(value, ",") {
		if kind = strings.TrimSpace(kind); kind != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Conditioned is true for a kind with conditions. Only a class that its author declared may have none (N58).
func (k *Kind) Conditioned() bool { return k.Role != Class || k.Status.Name != "" }

// addClass adds none for a namespaced kind: teams could read the secrets of its managed resources (N28).
func (p *Package) addClass(k *Kind) {
	if k.Role != Managed || k.Scope != Cluster || !k.Struct.Comment.Has(ClassMarker) || p.Declared[k.ClassName()] {
		return
	}
	p.Kinds = append(p.Kinds, &Kind{
		Name: k.ClassName(), Role: Class, Scope: Cluster, Package: p, Struct: k.Struct, Source: k, Parameters: k.Parameters,
		Spec: Ref{p.Path, k.ClassName() + "SpecTemplate"}, Status: Ref{CommonPath, "ClassStatus"},
	})
}

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

// Markers of references, which are those of Crossplane. That of the type has the kind that a field refers to.
const (
	referenceMarker    = "crossplane:generate:reference"
	ReferenceType      = referenceMarker + ":type"
	referenceExtractor = referenceMarker + ":extractor"
	referenceRefName   = referenceMarker + ":refFieldName"
	referenceSelector  = referenceMarker + ":selectorFieldName"
)

// A Reference is a field whose value can be resolved from another object (R158).
type Reference struct {
	Place         Place  // of the field below the parameters
	Ref, Selector *Field // beside it; nil if the author did not declare them
	Target        Ref    // type of the referenced kind, in the scope of the referring kind. It has no name if there is no such kind
	// Extractor is the call that returns the value of the target: Import is the package of the function, Name the call. It is empty
	// for the external name.
	Extractor Ref
}

// Companions returns the places of reference and selector.
func (r Reference) Companions() []Place {
	beside := func(f *Field) Place { return append(slices.Clone(r.Place[:len(r.Place)-1]), f) }
	return []Place{beside(r.Ref), beside(r.Selector)}
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
			Place: place, Ref: f.Struct.Field(RefNames(f)...), Selector: f.Struct.Field(SelectorNames(f)...),
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
	if i := strings.LastIndex(head, "."); i >= 0 {
		return Ref{head[:i], head[i+1:] + "(" + arguments}
	}
	return Ref{Name: call}
}
