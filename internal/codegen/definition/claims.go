// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// keepSpec keeps the spec of a claim from being removed as a whole, and with it the rules on what was settled there: API
// servers ask those of values that are there only.
func keepSpec(schema *apiextensionsv1.JSONSchemaProps) {
	addRule(schema, "!has(oldSelf.spec) || has(self.spec)", "spec cannot be removed: delete the claim and make another", ".spec")
}

// openTemplate makes of what controller-gen wrote the schema of a template: the template is demanded though JSON may leave
// it out, and rules of the settings that compare with what was before do not hold for it, since a class may change (R277).
func openTemplate(schema *apiextensionsv1.JSONSchemaProps) {
	if !slices.Contains(schema.Required, "specTemplate") {
		schema.Required = append(schema.Required, "specTemplate")
	}
	edit(schema, []string{"specTemplate", "forProvider"}, withoutTransitions)
}

func withoutTransitions(s *apiextensionsv1.JSONSchemaProps) {
	s.XValidations = slices.DeleteFunc(s.XValidations, func(v apiextensionsv1.ValidationRule) bool {
		return strings.Contains(v.Rule, "oldSelf")
	})
	for _, name := range sortedNames(s.Properties) {
		edit(s, []string{name}, withoutTransitions)
	}
	edit(s, []string{items}, withoutTransitions)
}
