// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// types is the data of the template of types for a kind.
type types struct {
	*model.Kind
	// Types to generate.
	WriteKind, WriteSpec, WriteStatus, WriteList, WriteInit, WriteTemplate, WriteClass bool
}

func typesOf(pkg *model.Package) []types {
	var all []types
	for _, k := range pkg.Kinds {
		t := types{Kind: k}
		t.WriteKind = k.Role != model.Class && !k.Declares(k.Name)
		t.WriteList = !k.Declares(k.Name + "List")
		switch k.Role {
		case model.Class:
			t.WriteClass = !k.Declares(k.Name)
			t.WriteTemplate = k.Spec.Import == pkg.Path && !k.Declares(k.Spec.Name)
		case model.Managed:
			t.WriteSpec = k.Spec.Import == pkg.Path && !k.Declares(k.Spec.Name)
			t.WriteStatus = k.Status.Import == pkg.Path && !k.Declares(k.Status.Name)
			t.WriteInit = k.Init.Import == pkg.Path && !k.Declares(k.Init.Name)
		}
		all = append(all, t)
	}
	return all
}

// Common returns the struct that the spec of a managed kind embeds.
func (t types) Common() string {
	if t.Scope == model.Namespaced {
		return "NamespacedResourceSpec"
	}
	return "ResourceSpec"
}

// MadeNoun returns the noun of the managed kind of a class.
func (t types) MadeNoun() string {
	return (&model.Kind{Name: t.MadeName()}).Noun()
}

// Settings returns the fields of the parameters.
func (t types) Settings() []*model.Field {
	if parameters := t.Lookup(t.Parameters); parameters != nil {
		return parameters.Fields
	}
	return nil
}

// Prose returns the comment of a generated kind, which is that of its source. Of a provider configuration only the first sentence
// applies to both scopes.
func (t types) Prose() string {
	if t.Role != model.ProviderConfig {
		return "// " + strings.ReplaceAll(strings.Join(t.Struct.Comment.Prose, "\n// "), "// \n", "//\n")
	}
	first, _, _ := strings.Cut(t.Struct.Comment.Text(), ". ")
	first = strings.TrimSuffix(strings.Replace(first, t.Source.Name, t.Name, 1), ".")
	if t.Name == t.Source.Name {
		return wrap(first + ". It is for objects of its own namespace that refer to it, and its Secret is in the same namespace.")
	}
	return wrap(first + ". It is for objects of all namespaces; the one named \"default\" is for objects without a reference to a configuration.")
}

// Markers returns the markers of the author that also apply to the other scope.
func (t types) Markers() []string {
	var kept []string
	for _, m := range t.Struct.Comment.Markers {
		text := withoutScope(m.String())
		if strings.HasPrefix(m.Name, "kubebuilder:") && m.Name != "kubebuilder:object:root" && text != "+kubebuilder:resource:" {
			kept = append(kept, "// "+text)
		}
	}
	return kept
}

// withoutScope returns +kubebuilder:resource:shortName=db for +kubebuilder:resource:scope=Cluster,shortName=db.
func withoutScope(marker string) string {
	arguments, ok := strings.CutPrefix(marker, "+kubebuilder:resource:")
	if !ok {
		return marker
	}
	kept := slices.DeleteFunc(strings.Split(arguments, ","), func(a string) bool { return strings.HasPrefix(a, "scope=") })
	return "+kubebuilder:resource:" + strings.Join(kept, ",")
}

// initField generates a field of the init parameters from one of the parameters: optional, without a default, and without markers
// that do not apply to settings at creation.
func (f *file) initField(of *model.Field) string {
	var text strings.Builder
	for _, line := range of.Comment.Prose {
		text.WriteString(strings.TrimRight("// "+line, " ") + "\n")
	}
	if !of.Embedded && !of.Optional() {
		text.WriteString("// +optional\n")
	}
	for _, m := range of.Comment.Markers {
		if keptInInit(m.Name) {
			text.WriteString("// " + m.String() + "\n")
		}
	}
	qualifier := regexp.MustCompile(`\w+\.`)
	typ := qualifier.ReplaceAllStringFunc(of.Type.Text, func(name string) string { // Imports may have other names in this file.
		name = strings.TrimSuffix(name, ".")
		return f.use(of.Type.Imports[name], name)
	})
	if of.Embedded {
		return text.String() + fmt.Sprintf("%s `json:\",inline\"`\n", typ)
	}
	if !of.Optional() && !of.Type.Pointer && !of.Type.Collection() {
		typ = "*" + typ
	}
	return text.String() + fmt.Sprintf("%s %s `json:\"%s,omitempty\"`\n", of.Name, typ, of.JSON)
}

func keptInInit(marker string) bool {
	dropped := []string{"immutable", "required", "default", "kubebuilder:default", "kubebuilder:validation:Required"}
	return !slices.Contains(dropped, marker) && !strings.HasPrefix(marker, "bowline:") && !strings.HasPrefix(marker, "crossplane:")
}
