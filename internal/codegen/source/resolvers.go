// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

type resolver struct {
	*model.Kind
	Attempts                 []attempt
	InInit, Nearby, Anywhere bool // variables to declare
}

type attempt struct {
	model.Reference
	Open, Close string   // loops and conditions around the block
	At          string   // the struct of the field in Go
	Path        string   // of the field, with %d for each of the indices
	Indices     []string // variables of the loops
}

// Namespaced is true for references that may name a namespace.
func (a attempt) Namespaced() bool { return a.Ref.Type.Name == "NamespacedReference" }

// Plural is the suffix of names for lists.
func (a attempt) Plural() string {
	if a.Place.Field().Type.List {
		return "s"
	}
	return ""
}

// Pointer is true for a pointer to a value, and for a list of pointers.
func (a attempt) Pointer() bool {
	t := a.Place.Field().Type
	return t.Pointer && !t.List || t.ItemPointer
}

func resolversOf(pkg *model.Package) []resolver {
	var all []resolver
	for _, k := range pkg.Kinds {
		r := resolver{Kind: k}
		if k.Role != model.Managed || pkg.Methods[k.Name+".ResolveReferences"] {
			continue
		}
		for _, reference := range k.References() {
			a := attemptOf(reference, "p", "spec.forProvider", nil)
			r.Attempts = append(r.Attempts, a)
			r.Anywhere, r.Nearby = r.Anywhere || a.Namespaced(), r.Nearby || !a.Namespaced()
			if !initHas(k, reference) {
				continue
			}
			conditions := unset(reference)
			if k.InitPointer {
				conditions = append([]string{"i != nil"}, conditions...)
			}
			r.InInit = true
			r.Attempts = append(r.Attempts, attemptOf(amongInit(k, reference), "i", "spec.initProvider", conditions))
		}
		if len(r.Attempts) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// initHas is true if the init parameters also have the field, which those of the author may not.
func initHas(k *model.Kind, r model.Reference) bool {
	own := k.Lookup(k.Init)
	return k.Init.Name != "" && (own == nil || own.Field(r.Place[0].Name) != nil)
}

// amongInit returns a reference as the author declared it in the init parameters, or else optional, as initField does.
func amongInit(k *model.Kind, r model.Reference) model.Reference {
	first := *r.Place[0]
	if own := k.Lookup(k.Init); own != nil {
		first = *own.Field(first.Name)
	} else if !first.Type.Collection() && !first.Optional() && !first.Embedded {
		first.Type.Pointer = true
	}
	r.Place = append(model.Place{&first}, r.Place[1:]...)
	return r
}

func attemptOf(r model.Reference, root, path string, conditions []string) attempt {
	a := attempt{Reference: r, At: root, Path: path}
	enter := func(statement string) { a.Open, a.Close = a.Open+statement+"{\n", a.Close+"\n}" }
	for _, condition := range conditions {
		enter("if " + condition)
	}
	for _, step := range r.Place[:len(r.Place)-1] {
		a.At += "." + step.Name
		if step.JSON != "" {
			a.Path += "." + step.JSON
		}
		if step.Type.List {
			index := string(rune('a' + len(a.Indices)))
			enter("for " + index + " := range " + a.At)
			a.At, a.Path, a.Indices = a.At+"["+index+"]", a.Path+"[%d]", append(a.Indices, index)
		}
		if step.Type.Pointer && !step.Type.List || step.Type.ItemPointer {
			enter("if " + a.At + " != nil")
		}
	}
	if a.Open == "" {
		enter("")
	}
	a.Path += "." + r.Place.Field().JSON
	return a
}

// unset returns the condition that spec.forProvider has no value; none inside lists, where that is unknown.
func unset(r model.Reference) []string {
	var conditions []string
	at := "p"
	for _, step := range r.Place[:len(r.Place)-1] {
		at += "." + step.Name
		if step.Type.Collection() {
			return nil
		}
		if step.Type.Pointer {
			conditions = append(conditions, at+" == nil")
		}
	}
	field := r.Place.Field()
	at += "." + field.Name
	switch {
	case field.Type.List:
		conditions = append(conditions, "len("+at+") == 0")
	case field.Type.Pointer:
		conditions = append(conditions, at+" == nil")
	default:
		conditions = append(conditions, at+` == ""`)
	}
	return []string{strings.Join(conditions, " || ")}
}
