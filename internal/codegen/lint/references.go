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
	f, list := at.Field(), parent(at, func(p *model.Field) bool {
		return p.Type.Map || p.Type.List && p.Comment.Value("listType") != "map"
	})
	if !f.Comment.Has("immutable") || list == nil {
		return ""
	}
	return fmt.Sprintf("%s is immutable, but items of %s have no identity: mark %s with +listType=map and +listMapKey, or with +immutable",
		f.Name, list.Name, list.Name)
}

// referenceAt returns the reference of a place, if its field has one.
func referenceAt(k *model.Kind, at model.Place) (model.Reference, bool) {
	all := k.References()
	i := slices.IndexFunc(all, func(r model.Reference) bool { return slices.Equal(r.Place, at) })
	if i < 0 {
		return model.Reference{}, false
	}
	return all[i], true
}

func immutableReference(k *model.Kind, at model.Place) string {
	r, ok := referenceAt(k, at)
	if !ok {
		return ""
	}
	fixed := at.Field().Comment.Has("immutable")
	switch {
	case r.Ref != nil && fixed && !r.Ref.Comment.Has("immutable"):
		return fmt.Sprintf("%s is immutable, so its reference must be too: mark %s +immutable", at.Field().Name, r.Ref.Name)
	case r.Ref != nil && !fixed && r.Ref.Comment.Has("immutable"):
		return fmt.Sprintf("%s is immutable, so the value that it resolves to must be too: mark %s +immutable", r.Ref.Name, at.Field().Name)
	case r.Selector != nil && r.Selector.Comment.Has("immutable"):
		return fmt.Sprintf("%s selects only once: remove its marker +immutable", r.Selector.Name)
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
			return fmt.Sprintf("%s is immutable, but by default %s is resolved again in every pass: remove the policy Always",
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
	kind, companion := f.Comment.Value(model.ReferenceType), "*xpv1.Reference"
	if f.Type.List {
		companion = "[]xpv1.Reference"
	}
	switch {
	case f.Type.Name != "string" || f.Type.Map:
		return fmt.Sprintf("%s refers to %s, but is of type %s: make it *string or []string", f.Name, kind, f.Type.Text)
	case parent(at, func(p *model.Field) bool { return p.Type.Map }) != nil:
		return fmt.Sprintf("%s is in a map, where references are not resolved: make the map a list", f.Name)
	case r.Ref == nil:
		return fmt.Sprintf("%s has no field %s beside it: declare it as %s", f.Name, model.RefNames(f)[0], companion)
	case r.Selector == nil:
		return fmt.Sprintf("%s has no field %s beside it: declare it as *xpv1.Selector", f.Name, model.SelectorNames(f)[0])
	case !isCompanion(r.Ref, "Reference") || r.Ref.Type.List != f.Type.List || r.Ref.Type.Pointer == f.Type.List:
		return fmt.Sprintf("%s is of type %s: make it %s", r.Ref.Name, r.Ref.Type.Text, companion)
	case !isCompanion(r.Selector, "Selector") || !r.Selector.Type.Pointer || r.Selector.Type.List || isNamespaced(r.Ref) != isNamespaced(r.Selector):
		return fmt.Sprintf("%s is of type %s: make it *xpv1.%s", r.Selector.Name, r.Selector.Type.Text,
			strings.Replace(r.Ref.Type.Name, "Reference", "Selector", 1))
	case r.Extractor.Name != "" && r.Extractor.Import == "":
		return fmt.Sprintf("the extractor of %s is not a function call: write import/path.Function()", f.Name)
	}
	return target(k, r, kind)
}

// target searches the kind in every scope of the referring kind.
func target(k *model.Kind, r model.Reference, kind string) string {
	name := r.Place.Field().Name
	if r.Target.Name == "" {
		return fmt.Sprintf("%s refers to %s, but there is no such %s kind: correct the marker, or add the scope to that kind", name, kind,
			strings.ToLower(string(k.Scope)))
	}
	for _, pkg := range k.Package.API.Packages {
		for _, second := range pkg.Kinds {
			if second.Source != k {
				continue
			}
			if other, ok := referenceAt(second, r.Place); ok && other.Target.Name == "" {
				return fmt.Sprintf("%s refers to %s, but there is no such namespaced kind: mark it with +bowline:scopes=Cluster,Namespaced",
					name, kind)
			}
		}
	}
	return ""
}

func isCompanion(f *model.Field, name string) bool {
	return f.Type.Is(model.CommonPath, name) || f.Type.Is(model.CommonPath, "Namespaced"+name)
}

// isNamespaced is true for references and selectors that may name another namespace.
func isNamespaced(f *model.Field) bool { return strings.HasPrefix(f.Type.Name, "Namespaced") }
