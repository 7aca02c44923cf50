// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

type schema = apiextensionsv1.JSONSchemaProps

// edit changes the schema at the end of steps, if it exists.
func edit(s *schema, at []string, change func(*schema)) {
	if len(at) == 0 {
		change(s)
		return
	}
	if at[0] == items {
		if s.Items != nil && s.Items.Schema != nil {
			edit(s.Items.Schema, at[1:], change)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			edit(s.AdditionalProperties.Schema, at[1:], change)
		}
		return
	}
	if property, ok := s.Properties[at[0]]; ok {
		edit(&property, at[1:], change)
		s.Properties[at[0]] = property
	}
}

// addRule adds a rule unless the author wrote the same.
func addRule(s *schema, rule, message, fieldPath string) {
	if slices.ContainsFunc(s.XValidations, func(v apiextensionsv1.ValidationRule) bool { return v.Rule == rule }) {
		return
	}
	s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: rule, Message: message, FieldPath: fieldPath})
}

// bound limits the size of a value that a rule compares, so that the cost of the rule stays within the limit of API servers
// (N33). Limits of the author stay.
func bound(s *schema) {
	const most, longest = 64, 1024
	switch s.Type {
	case "string":
		if s.MaxLength == nil && len(s.Enum) == 0 && s.Format == "" {
			s.MaxLength = new(int64(longest))
		}
	case "array":
		if s.MaxItems == nil {
			s.MaxItems = new(int64(most))
		}
		edit(s, []string{items}, bound)
	case "object":
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			if s.MaxProperties == nil {
				s.MaxProperties = new(int64(most))
			}
			bound(s.AdditionalProperties.Schema)
		}
		for name := range s.Properties {
			edit(s, []string{name}, bound)
		}
	}
}

// containsObjects is true for objects with properties, and lists of them.
func containsObjects(s *schema) bool {
	return len(s.Properties) > 0 || s.Items != nil && s.Items.Schema != nil && containsObjects(s.Items.Schema)
}

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
