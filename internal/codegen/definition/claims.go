// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// fixClaim makes the immutable settings of a claim immutable once it has a managed resource: later changes would have no effect.
// The rules are at the spec, so that removing the parent of a setting does not circumvent them; package lint refuses such
// settings in lists and maps. The spec itself cannot be removed, because API servers evaluate rules only for values that exist.
func fixClaim(s *schema, k *model.Kind) {
	addRule(s, "!has(oldSelf.spec) || has(self.spec)", "spec cannot be removed: delete the claim and make another", ".spec")
	for _, place := range k.Lookup(k.Spec).Walk() {
		names := steps(place)
		if !place.Field().Comment.Has("immutable") || slices.Contains(names, items) {
			continue
		}
		message := path(names) + " is settled, since the claim has its managed resource: delete the claim and make another"
		now, before := has("self", names...), has("oldSelf", names...)
		rule := "!has(oldSelf.resourceRef) || " + now + " == " + before + " && (!" + now + " || " +
			plain("self", names) + " == " + plain("oldSelf", names) + ")"
		edit(s, []string{"spec"}, func(s *schema) {
			addRule(s, rule, message, "."+path(names))
			edit(s, names, bound)
		})
	}
}

// openTemplate completes the schema of a class: the template is required although its JSON tag has omitempty, and rules that
// compare with the old object do not apply, since a class may change (R277).
func openTemplate(s *schema) {
	if !slices.Contains(s.Required, "specTemplate") {
		s.Required = append(s.Required, "specTemplate")
	}
	edit(s, []string{"specTemplate", "forProvider"}, withoutTransitions)
}

func withoutTransitions(s *schema) {
	s.XValidations = slices.DeleteFunc(s.XValidations, func(v apiextensionsv1.ValidationRule) bool {
		return strings.Contains(v.Rule, "oldSelf")
	})
	editProperties(s, withoutTransitions)
	edit(s, []string{items}, withoutTransitions)
}
