// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// rules is the data of the template of field rules for a parameters type.
type rules struct {
	// Type is the name of the parameters type, Noun that of the kind.
	Type, Noun string
	// Lists are the fields of parameters.Rules that are lists of paths.
	Lists []list
	// Defaults and Generated are the fields that are maps.
	Defaults, Generated map[string]string
	// Labels is the path of the labels.
	Labels string
}

type list struct {
	Name  string
	Paths []string
}

func rulesOf(pkg *model.Package) []rules {
	var all []rules
	seen := map[string]bool{}
	for _, k := range pkg.Kinds {
		parameters := k.Lookup(k.Parameters)
		if k.Role != model.Managed || k.Parameters.Import != pkg.Path || parameters == nil || seen[k.Parameters.Name] {
			continue
		}
		seen[k.Parameters.Name] = true
		if !pkg.Methods[k.Parameters.Name+".FieldRules"] {
			all = append(all, readRules(k, parameters))
		}
	}
	return all
}

func readRules(k *model.Kind, parameters *model.Struct) rules {
	r := rules{Type: k.Parameters.Name, Noun: k.Noun(), Defaults: map[string]string{}, Generated: map[string]string{}}
	paths := map[string][]string{}
	add := func(name, path string) {
		if !slices.Contains(paths[name], path) {
			paths[name] = append(paths[name], path)
		}
	}
	for _, place := range parameters.Walk() {
		f, path := place.Field(), place.Path()
		if f.Comment.Has("immutable") && !isReference(f) {
			add("Immutable", path)
		}
		if f.Comment.Has("bowline:sensitive") {
			add("Sensitive", path)
		}
		if f.Comment.Value("listType") == "set" {
			add("Sets", path)
		}
		for _, m := range f.Comment.Markers {
			for word := range strings.SplitSeq(m.Value, ";") {
				if m.Name == "bowline:compare" {
					add(comparisons()[strings.TrimSpace(word)], path)
				}
			}
		}
		if value := f.Comment.Value("bowline:default"); value != "" {
			r.Defaults[path] = value
		}
		if key := f.Comment.Value("bowline:generated"); key != "" {
			r.Generated[path] = key
		}
		if f.Comment.Has("bowline:labels") {
			r.Labels = path
		}
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		r.Lists = append(r.Lists, list{name, paths[name]})
	}
	return r
}

// comparisons returns the fields of parameters.Rules for the words of the marker +bowline:compare.
func comparisons() map[string]string {
	return map[string]string{
		"set": "Sets", "ignoreCase": "IgnoreCase", "json": "JSON", "ignore": "Ignored", "writeOnly": "WriteOnly", "extra": "Extra",
		"chosen": "Chosen",
	}
}

func isReference(f *model.Field) bool {
	return f.Type.Import == model.CommonPath && slices.Contains([]string{"Reference", "NamespacedReference"}, f.Type.Name)
}

// Literal returns the paths as a Go literal.
func (l list) Literal() string {
	return fmt.Sprintf("[]string{\"%s\"}", strings.Join(l.Paths, `", "`))
}
