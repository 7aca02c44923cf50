// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// keepSpec keeps the spec of a claim from being removed as a whole, and with it the rules on what was settled there: API
// servers ask those of values that are there only.
func keepSpec(schema *apiextensionsv1.JSONSchemaProps) {
	addRule(schema, "!has(oldSelf.spec) || has(self.spec)", "spec cannot be removed: delete the claim and make another", ".spec")
}

// settle keeps a claim's own immutable settings as they were when its managed resource was made: they count then only, and
// who changes them later would believe to have got what was not done. Before, they may change. The rules are at the spec, so
// that nobody gets around them by removing what holds a setting; package lint sees that no list or map does.
func settle(schema *apiextensionsv1.JSONSchemaProps, k *model.Kind) {
	for _, place := range k.Lookup(k.Spec).Walk() {
		names := steps(place)
		if !place.Field().Comment.Has("immutable") || slices.Contains(names, items) {
			continue
		}
		message := path(names) + " is settled, since the claim has its managed resource: delete the claim and make another"
		edit(schema, []string{"spec"}, func(s *apiextensionsv1.JSONSchemaProps) {
			addRule(s, settled(names), message, "."+path(names))
			edit(s, names, bound)
		})
	}
}

func settled(names []string) string {
	rule := "!has(oldSelf.resourceRef) || has(self.F) == has(oldSelf.F) && (!has(self.F) || self.F == oldSelf.F)"
	if len(names) > 1 {
		rule = "!has(oldSelf.resourceRef) || self.?O.hasValue() == oldSelf.?O.hasValue() && (!self.?O.hasValue() || self.F == oldSelf.F)"
	}
	spelled := each(names, celName)
	return strings.NewReplacer("F", strings.Join(spelled, "."), "O", strings.Join(spelled, ".?")).Replace(rule)
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
