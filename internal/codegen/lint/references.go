// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

func immutableList(_ *model.Kind, at model.Place) string {
	f := at.Field()
	if !f.Comment.Has("immutable") {
		return ""
	}
	for _, holder := range at[:len(at)-1] {
		if holder.Type.Map || holder.Type.List && holder.Comment.Value("listType") != "map" {
			return fmt.Sprintf("%s is immutable, but the items of %s cannot be told apart when they change: mark %s with +listType=map and "+
				"+listMapKey, or as immutable itself", f.Name, holder.Name, holder.Name)
		}
	}
	return ""
}

// referenceAt returns the reference of a place, if the field there is one.
func referenceAt(k *model.Kind, at model.Place) (model.Reference, bool) {
	for _, r := range k.References() {
		if slices.Equal(r.Place, at) {
			return r, true
		}
	}
	return model.Reference{}, false
}

func immutableReference(k *model.Kind, at model.Place) string {
	r, ok := referenceAt(k, at)
	if !ok {
		return ""
	}
	fixed := at.Field().Comment.Has("immutable")
	switch {
	case r.Ref != nil && fixed && !r.Ref.Comment.Has("immutable"):
		return fmt.Sprintf("%s is immutable, and so is what it comes from: mark %s +immutable too", at.Field().Name, r.Ref.Name)
	case r.Ref != nil && !fixed && r.Ref.Comment.Has("immutable"):
		return fmt.Sprintf("%s is immutable, and so is what becomes of it: mark %s +immutable too", r.Ref.Name, at.Field().Name)
	case r.Selector != nil && r.Selector.Comment.Has("immutable"):
		return fmt.Sprintf("%s only chooses once: leave out its marker +immutable", r.Selector.Name)
	}
	return ""
}

func immutableAlways(k *model.Kind, at model.Place) string {
	r, ok := referenceAt(k, at)
	if !ok || !at.Field().Comment.Has("immutable") {
		return ""
	}
	for _, companion := range []*model.Field{r.Ref, r.Selector} {
		if companion != nil && strings.Contains(companion.Comment.Value("kubebuilder:default"), "Always") {
			return fmt.Sprintf("%s is immutable, but %s is resolved anew in every pass by default: leave out the policy Always",
				at.Field().Name, companion.Name)
		}
	}
	return ""
}

func reference(k *model.Kind, at model.Place) string {
	r, ok := referenceAt(k, at)
	if !ok {
		return ""
	}
	f := at.Field()
	kind := f.Comment.Value(model.ReferenceType)
	switch {
	case f.Type.Name != "string" || f.Type.Map:
		return fmt.Sprintf("%s refers to %s, but is of type %s: make it *string or []string", f.Name, kind, f.Type.Text)
	case slices.ContainsFunc(at[:len(at)-1], func(holder *model.Field) bool { return holder.Type.Map }):
		return fmt.Sprintf("%s is in a map, where references are not resolved: make that a list", f.Name)
	case r.Ref == nil:
		return fmt.Sprintf("%s has no field %s beside it: declare it as %s", f.Name, model.RefNames(f)[0], companionType(f))
	case r.Selector == nil:
		return fmt.Sprintf("%s has no field %s beside it: declare it as *xpv1.Selector", f.Name, model.SelectorNames(f)[0])
	case !isCompanion(r.Ref, "Reference") || r.Ref.Type.List != f.Type.List || r.Ref.Type.Pointer == f.Type.List:
		return fmt.Sprintf("%s is of type %s: make it %s", r.Ref.Name, r.Ref.Type.Text, companionType(f))
	case !isCompanion(r.Selector, "Selector") || !r.Selector.Type.Pointer || r.Selector.Type.List || !sameReach(r):
		return fmt.Sprintf("%s is of type %s: make it *xpv1.%s", r.Selector.Name, r.Selector.Type.Text,
			strings.Replace(r.Ref.Type.Name, "Reference", "Selector", 1))
	case r.Extractor.Name != "" && r.Extractor.Import == "":
		return fmt.Sprintf("the extractor of %s is no call of a function of a package: write import/path.Function()", f.Name)
	}
	return target(k, r, kind)
}

// target looks for the kind in every scope that the referring kind has.
func target(k *model.Kind, r model.Reference, kind string) string {
	name := r.Place.Field().Name
	if r.Target.Name == "" {
		return fmt.Sprintf("%s refers to %s, but there is no such %s kind: check the marker, or give that kind the scope too", name, kind,
			strings.ToLower(string(k.Scope)))
	}
	for _, pkg := range k.Package.API.Packages {
		for _, second := range pkg.Kinds {
			if second.Source != k {
				continue
			}
			for _, other := range second.References() {
				if slices.Equal(other.Place, r.Place) && other.Target.Name == "" {
					return fmt.Sprintf("%s refers to %s, but there is no such namespaced kind: mark it with +bowline:scopes=Cluster,Namespaced",
						name, kind)
				}
			}
		}
	}
	return ""
}

func companionType(f *model.Field) string {
	if f.Type.List {
		return "[]xpv1.Reference"
	}
	return "*xpv1.Reference"
}

func isCompanion(f *model.Field, name string) bool {
	return f.Type.Is(model.CommonPath, name) || f.Type.Is(model.CommonPath, "Namespaced"+name)
}

// sameReach is true if reference and selector may both leave the namespace, or neither.
func sameReach(r model.Reference) bool {
	return strings.HasPrefix(r.Ref.Type.Name, "Namespaced") == strings.HasPrefix(r.Selector.Type.Name, "Namespaced")
}
