// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// plain returns the CEL expression of a field below an object, optional the same with optional selection: its value is empty
// if anything on the way is missing.
func plain(object string, names []string) string {
	return strings.Join(append([]string{object}, celNames(names)...), ".")
}

func optional(object string, names []string) string {
	return strings.Join(append([]string{object}, celNames(names)...), ".?")
}

// has returns the condition that a field below an object has a value.
func has(object string, names ...string) string {
	if len(names) == 1 {
		return "has(" + plain(object, names) + ")"
	}
	return hasOptional(object, names...)
}

func hasOptional(object string, names ...string) string {
	return optional(object, names) + ".hasValue()"
}

// celNames returns properties as CEL spells them. A name may end with the index [0].
func celNames(names []string) []string {
	reserved := []string{"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
		"import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}
	escape := strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__")
	all := make([]string, len(names))
	for i, name := range names {
		name, index := strings.TrimSuffix(name, firstItem), name[len(strings.TrimSuffix(name, firstItem)):]
		if all[i] = escape.Replace(name) + index; slices.Contains(reserved, name) {
			all[i] = "__" + name + "__" + index
		}
	}
	return all
}

const (
	// items is the step from a list or map to its items.
	items = "[]"
	// firstItem is the index of the only item of a list.
	firstItem = "[0]"
)

// steps returns the properties on the way from the settings to a field, with items after each list and map.
func steps(place model.Place) []string {
	var all []string
	for i, f := range place {
		if f.JSON != "" {
			all = append(all, f.JSON)
		}
		if f.Type.Collection() && i < len(place)-1 {
			all = append(all, items)
		}
	}
	return all
}

// firstSteps returns the properties on the way from the settings to a field, with firstItem after each list.
func firstSteps(place model.Place) []string {
	var all []string
	for i, f := range place {
		switch {
		case f.JSON == "":
		case f.Type.List && i < len(place)-1:
			all = append(all, f.JSON+firstItem)
		default:
			all = append(all, f.JSON)
		}
	}
	return all
}

// holder splits the way to a field at the place of its rule: the settings, or the items of the innermost list.
func holder(k *model.Kind, place model.Place) (at, below []string) {
	all := append([]string{root(k), "forProvider"}, steps(place)...)
	last := 1
	for i, step := range all[:len(all)-1] {
		if step == items {
			last = i
		}
	}
	return all[:last+1], all[last+1:]
}

// root is the property that contains the settings.
func root(k *model.Kind) string {
	if k.Role == model.Class {
		return "specTemplate"
	}
	return "spec"
}

func path(names []string) string { return strings.Join(names, ".") }
