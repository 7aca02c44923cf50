// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

// editProperties changes the schemas of all properties, in order.
func editProperties(s *schema, change func(*schema)) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		edit(s, []string{name}, change)
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
		editProperties(s, bound)
	}
}

// containsObjects is true for objects with properties, and lists of them.
func containsObjects(s *schema) bool {
	return len(s.Properties) > 0 || s.Items != nil && s.Items.Schema != nil && containsObjects(s.Items.Schema)
}
