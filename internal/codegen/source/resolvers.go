// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

const referencePath = "github.com/bowline-dev/bowline/pkg/reference"

// resolversOf returns the kinds with references and without a resolver of the author.
func resolversOf(pkg *model.Package) []*model.Kind {
	var all []*model.Kind
	for _, k := range pkg.Kinds {
		if k.Role == model.Managed && !pkg.Methods[k.Name+".ResolveReferences"] && len(k.References()) > 0 {
			all = append(all, k)
		}
	}
	return all
}

// resolve generates the statements that resolve all references of a kind.
func (f *file) resolve(k *model.Kind) string {
	f.use(referencePath, "")
	var text strings.Builder
	text.WriteString("p := &mg.Spec.ForProvider\n")
	references := k.References()
	inInit := slices.ContainsFunc(references, func(r model.Reference) bool { return initHas(k, r) })
	if inInit && k.InitPointer {
		text.WriteString("i := mg.Spec.InitProvider\n")
	} else if inInit {
		text.WriteString("i := &mg.Spec.InitProvider\n")
	}
	if slices.ContainsFunc(references, func(r model.Reference) bool { return !isNamespaced(r) }) {
		text.WriteString("nearby := reference.NewAPIResolver(c, mg)\n")
	}
	if slices.ContainsFunc(references, isNamespaced) {
		text.WriteString("anywhere := reference.NewAPINamespacedResolver(c, mg)\n")
	}
	for _, r := range references {
		text.WriteString(f.attempt(r, "p", "spec.forProvider"))
		if initHas(k, r) {
			within := f.attempt(amongInit(k, r), "i", "spec.initProvider")
			if condition := unset(r); condition != "" && strings.HasPrefix(within, "{") {
				within = "if " + condition + " " + within
			} else if condition != "" {
				within = "if " + condition + " {\n" + within + "}\n"
			}
			if k.InitPointer {
				within = "if i != nil {\n" + within + "}\n"
			}
			text.WriteString(within)
		}
	}
	return text.String()
}

// initHas is true if the init parameters also have the field, which those of the author may not.
func initHas(k *model.Kind, r model.Reference) bool {
	own := k.Lookup(k.Init)
	return k.Init.Name != "" && (own == nil || own.Field(r.Place[0].Name) != nil)
}

// isNamespaced is true for references that may name a namespace.
func isNamespaced(r model.Reference) bool {
	return r.Ref.Type.Name == "NamespacedReference"
}

// amongInit returns a reference as it is in the init parameters: as the author declared it there, or else optional, as initField
// generates it.
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

// attempt generates a block that resolves one reference, within the loops and conditions for its place.
func (f *file) attempt(r model.Reference, root, path string) string {
	var open, closing string
	var indices []string
	at := root
	for _, step := range r.Place[:len(r.Place)-1] {
		at += "." + step.Name
		if step.JSON != "" {
			path += "." + step.JSON
		}
		if step.Type.List {
			index := string(rune('a' + len(indices)))
			open += fmt.Sprintf("for %s := range %s {\n", index, at)
			at, path, indices = at+"["+index+"]", path+"[%d]", append(indices, index)
			closing += "}\n"
		}
		if step.Type.Pointer && !step.Type.List || step.Type.ItemPointer {
			open += fmt.Sprintf("if %s != nil {\n", at)
			closing += "}\n"
		}
	}
	path = fmt.Sprintf("%q", path+"."+r.Place.Field().JSON)
	if len(indices) > 0 {
		path = fmt.Sprintf("%sSprintf(%s, %s)", f.use("fmt", ""), path, strings.Join(indices, ", "))
	}
	if open == "" {
		open, closing = "{\n", "}\n"
	}
	return open + f.request(r, at, path) + closing
}

// request generates the call and stores its result.
func (f *file) request(r model.Reference, at, path string) string {
	field := at + "." + r.Place.Field().Name
	call, request, current, references, resolved := "Resolve", "ResolutionRequest", "CurrentValue", "Reference", "rsp.ResolvedValue"
	from, to := "reference.FromPtrValue", "reference.ToPtrValue"
	pointer := r.Place.Field().Type.Pointer
	stored := "rsp.ResolvedReference"
	if r.Place.Field().Type.List {
		call, current, references, resolved = "ResolveMultiple", "CurrentValues", "References", "rsp.ResolvedValues"
		from, to, pointer, stored = from+"s", to+"s", r.Place.Field().Type.ItemPointer, "rsp.ResolvedReferences"
		request = "Multi" + request
	}
	resolver := "nearby"
	if isNamespaced(r) {
		resolver = "anywhere"
		request = strings.Replace("Namespaced"+request, "NamespacedMulti", "MultiNamespaced", 1)
	}
	value := field
	if pointer {
		value, resolved = from+"("+field+")", to+"("+resolved+")"
	}
	target := f.use(r.Target.Import, "") + r.Target.Name
	extract := ""
	if r.Extractor.Name != "" {
		extract = fmt.Sprintf("Extract: %s%s,\n", f.use(r.Extractor.Import, ""), r.Extractor.Name)
	}
	return fmt.Sprintf(`rsp, err := %s.%s(ctx, reference.%s{
		%s: %s,
		%s: %s.%s,
		Selector: %s.%s,
		To: reference.To{Managed: &%s{}, List: &%sList{}},
		%sFieldPath: %s,
	})
	if err != nil {
		return err
	}
	%s, %s.%s = %s, %s
`, resolver, call, request, current, value, references, at, r.Ref.Name, at, r.Selector.Name,
		target, target, extract, path, field, at, r.Ref.Name, resolved, stored)
}

// unset returns the condition that spec.forProvider has no value; empty inside lists, where that is unknown.
func unset(r model.Reference) string {
	var conditions []string
	at := "p"
	for _, step := range r.Place[:len(r.Place)-1] {
		at += "." + step.Name
		if step.Type.Collection() {
			return ""
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
	return strings.Join(conditions, " || ")
}
