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
)

// A recognition is the role and scope of a kind whose spec, or template of specs, embeds a struct.
type recognition struct {
	embedded string
	role     Role
	scope    Scope
}

// recognitions is the table to extend when a role is added.
func recognitions() []recognition {
	return []recognition{
		{"ResourceSpec", Managed, Cluster},
		{"NamespacedResourceSpec", Managed, Namespaced},
		{"ProviderSpec", ProviderConfig, Cluster},
		{"ResourceClaimSpec", Claim, Namespaced},
		{"ClassSpecTemplate", Class, Cluster},
		{"TargetSpec", Target, Namespaced},
	}
}

// A Ref names a type, of the package itself or another.
type Ref struct {
	// Import is the path of the package that declares the type.
	Import string
	// Name of the type.
	Name string
}

// A Kind is a root type of an API.
type Kind struct {
	// Name of the kind and of its Go type.
	Name string
	// Role of the kind.
	Role Role
	// Scope of the kind.
	Scope Scope
	// Package that the kind is in.
	Package *Package
	// Struct is the declaration of the author: in another package, for a kind whose Source is set.
	Struct *Struct
	// Source is the kind that this one is generated from: that of the first scope, or the managed kind of a class. It is nil for a
	// kind that the author declared.
	Source *Kind
	// Spec and Status are the names of the types of the fields; Spec is that of the specTemplate of a class.
	Spec, Status Ref
	// Parameters, Init and Observation are the types of spec.forProvider, spec.initProvider and status.atProvider of a
	// managed resource. Init has no name if the author's spec has no such field. A class only has Parameters.
	Parameters, Init, Observation Ref
	// InitPointer is true if the author's spec.initProvider is a pointer.
	InitPointer bool
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

// Declares is true if the author declared a type in the kind's package.
func (k *Kind) Declares(name string) bool { return k.Package.Declares(name) }

// Lookup returns the struct that a reference names, nil if it was not read.
func (k *Kind) Lookup(r Ref) *Struct {
	if pkg := k.Package.API.Package(r.Import); pkg != nil {
		return pkg.Structs[r.Name]
	}
	return nil
}

// isObject is true for structs that are Kubernetes objects with a spec, or with a template of specs.
func isObject(s *Struct) bool {
	return s.Embeds(MetaPath, "TypeMeta") && s.Embeds(MetaPath, "ObjectMeta") && specOf(s) != nil
}

// specOf returns the field that defines the role of a kind: a class has specTemplate instead of spec (K21).
func specOf(s *Struct) *Field {
	return cmp.Or(s.Field("SpecTemplate"), s.Field("Spec"))
}

// readKind returns the kind that a struct declares, nil if it has no role.
func readKind(s *Struct) *Kind {
	if !isObject(s) {
		return nil
	}
	k := &Kind{Name: s.Name, Package: s.Package, Struct: s, Scope: Cluster}
	k.Spec, k.Status = refOf(specOf(s), s.Package), refOf(s.Field("Status"), s.Package)
	scopes := Scopes(s)
	spec := k.Lookup(k.Spec)
	switch {
	case s.Comment.Has("bowline:providerconfig"):
		k.Role = ProviderConfig
	case spec == nil && s.Field("SpecTemplate") != nil:
		k.Role = Class
	case spec == nil && len(scopes) > 0:
		k.Role = Managed
	case spec != nil:
		for _, r := range recognitions() {
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

// readParts sets the types of the fields: those of the author, or the default names of generated ones.
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

// Scopes returns the valid scopes of the marker +bowline:scopes, Cluster first.
func Scopes(s *Struct) []Scope {
	words := strings.Split(s.Comment.Value("bowline:scopes"), ",")
	return slices.DeleteFunc([]Scope{Cluster, Namespaced}, func(scope Scope) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return strings.TrimSpace(word) == string(scope) })
	})
}
