// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

func constrain(s *schema, k *model.Kind) {
	if k.Role != model.Class && k.Role != model.Target {
		limitName(s)
	}
	switch k.Role {
	case model.Claim:
		fixClaim(s, k)
		checkSelector(s, "spec", "classSelector")
	case model.Class:
		checkSelector(s, "specTemplate", "claims", "namespaceSelector")
		openTemplate(s)
	}
	parameters := k.Lookup(k.Parameters)
	if parameters == nil {
		return
	}
	places := parameters.Walk()
	for _, place := range places {
		if place.Field().Comment.Has("immutable") {
			fix(s, k, place)
		}
	}
	for _, r := range k.References() {
		if r.Place.Field().Comment.Has("immutable") {
			for _, companion := range r.Companions() {
				resolveOnce(s, k, companion)
			}
		}
	}
	for _, place := range places {
		if place.Field().Comment.Has("bowline:required") && !impliedRequired(place, places) {
			require(s, k, place)
		}
		if k.Scope == model.Namespaced && place.Field().Type.Is(model.CommonPath, "SecretKeySelector") {
			refuseNamespace(s, place)
		}
	}
}

// limitName refuses names that do not fit into the labels of external resources, nor into most external systems as a name. Existing
// objects with longer names can still be changed, since API servers do not validate again what stays as it is.
func limitName(s *schema) {
	edit(s, []string{"metadata"}, func(s *schema) {
		s.Properties = map[string]schema{"name": {Type: "string", MaxLength: new(int64(63))}}
	})
}

// checkSelector refuses the expressions of a label selector that are invalid, which the type permits.
func checkSelector(s *schema, selector ...string) {
	expressions := append(selector, "matchExpressions")
	edit(s, append(expressions, items), func(s *schema) {
		edit(s, []string{"operator"}, func(s *schema) {
			for _, operator := range []string{"In", "NotIn", "Exists", "DoesNotExist"} {
				s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(strconv.Quote(operator))})
			}
		})
		addRule(s, "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
			"operators In and NotIn need values, Exists and DoesNotExist have none", "")
	})
	edit(s, expressions, bound)
}

// fix lets an immutable field be set once (N7). The rule is as high up as possible, so that removing the parent of the field does
// not circumvent it. A class may change, so only the size of its value is limited (R277).
func fix(s *schema, k *model.Kind, place model.Place) {
	at, below := holder(k, place)
	message := path(below) + " is immutable: create another " + k.Noun() + " instead"
	now, before := has("self", below...), has("oldSelf", below...)
	rule := "!" + before + " || (" + now + " && " + plain("self", below) + " == " + plain("oldSelf", below) + ")"
	edit(s, at, func(s *schema) {
		if k.Role != model.Class {
			addRule(s, rule, message, "."+path(below))
		}
		edit(s, below, bound)
	})
	at[1] = "initProvider" // Its values must fit into forProvider.
	edit(s, append(at, below...), bound)
	if k.Role == model.Managed && k.Init.Name != "" && len(at) == 2 {
		fixInitial(s, k, place, below)
	}
}

// fixInitial keeps an immutable field of spec.initProvider, which may identify the external resource: after a change it would be
// created again. What spec.forProvider sets has its own rule, and in lists spec.initProvider is used at creation only. A reference of
// spec.forProvider may resolve after the creation, so that what it becomes must be the same. An object has a rule for each of its fields.
func fixInitial(s *schema, k *model.Kind, place model.Place, below []string) {
	within := func(settings string, names []string) []string { return append([]string{settings}, names...) }
	// The settings themselves always exist in forProvider, so that its name is not optional.
	enforced := func(object string, names []string) string { return hasOptional(object+".forProvider", names...) }
	if slices.ContainsFunc(k.References(), func(r model.Reference) bool { return r.Ref == place.Field() }) {
		return // The resolved value has a rule.
	}
	var parts []string
	comparable := true // objects of different schemas are not
	edit(s, within("spec", within("forProvider", below)), func(s *schema) {
		parts, comparable = slices.Sorted(maps.Keys(s.Properties)), !containsObjects(s)
	})
	if len(parts) > 0 {
		for _, part := range parts {
			fixInitial(s, k, place, append(slices.Clone(below), part))
		}
		return
	}
	free := enforced("oldSelf", below)
	initial := within("initProvider", below)
	free += " || !" + hasOptional("oldSelf", initial...) + " || "
	same := hasOptional("self", initial...) + " && " + plain("self", initial) + " == " + plain("oldSelf", initial)
	now := enforced("self", below)
	rule := free + "(" + now + " ? " + plain("self", within("forProvider", below)) + " == " + plain("oldSelf", initial) + " : " + same + ")"
	if !comparable { // It stays where it is.
		rule = free + "(!" + now + " && " + same + ")"
	}
	message := path(below) + " was set in spec.initProvider and is immutable: create another " + k.Noun() + " instead"
	edit(s, []string{"spec"}, func(s *schema) { addRule(s, rule, message, "") })
}

func resolveOnce(s *schema, k *model.Kind, companion model.Place) {
	const policy = ".?policy.?resolve.orValue('IfNotPresent') != 'Always'"
	at, below := holder(k, companion)
	rule, subject := optional("self", below)+policy, "it resolves"
	if companion.Field().Type.List {
		rule = "!" + has("self", below...) + " || " + plain("self", below) + ".all(r, r" + policy + ")"
		subject = "they resolve"
	}
	message := "what " + subject + " to is immutable: policy.resolve must not be Always"
	for _, settings := range []string{"forProvider", "initProvider"} {
		at[1] = settings
		edit(s, at, func(s *schema) { addRule(s, rule, message, "."+path(below)) })
	}
}

// refuseNamespace refuses the namespace of a Secret of a namespaced object, which its type requires (N2). Go writes an empty one.
func refuseNamespace(s *schema, place model.Place) {
	for _, settings := range []string{"forProvider", "initProvider"} {
		at := append([]string{"spec", settings}, steps(place)...)
		if place.Field().Type.Collection() {
			at = append(at, items)
		}
		edit(s, at, func(s *schema) {
			s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == "namespace" })
			edit(s, []string{"namespace"}, func(namespace *schema) {
				namespace.MinLength, namespace.MaxLength = nil, new(int64(63))
			})
			addRule(s, "!has(self.__namespace__) || self.__namespace__ == ''",
				"the Secret of a namespaced object is in its own namespace: leave namespace out", "")
		})
	}
}

func impliedRequired(place model.Place, all []model.Place) bool {
	return slices.ContainsFunc(all, func(other model.Place) bool {
		return len(other) > len(place) && slices.Equal(other[:len(place)], place) && other.Field().Comment.Has("bowline:required") &&
			parentsRequired(other)
	})
}

func parentsRequired(place model.Place) bool {
	return !slices.ContainsFunc(place[:len(place)-1], func(f *model.Field) bool { return !f.Comment.Has("bowline:required") && !f.Embedded })
}

// require accepts a value, a reference or a selector. Objects that are only observed need no settings (O32).
func require(s *schema, k *model.Kind, place model.Place) {
	ways := []model.Place{place}
	for _, r := range k.References() {
		if slices.Equal(r.Place, place) {
			ways = append(ways, r.Companions()...)
		}
	}
	settings := []string{"forProvider"}
	if k.Init.Name != "" {
		settings = append(settings, "initProvider")
	}
	rule := "!self.managementPolicies.exists(p, p in ['*', 'Create', 'Update']) || "
	if k.Role == model.Class {
		rule = ""
	}
	if !parentsRequired(place) {
		rule += "!(" + anyGiven(settings, place[:len(place)-1]) + ") || "
	}
	rule += anyGiven(settings, ways...)
	message := requireMessage(root(k), len(settings) > 1, ways)
	edit(s, []string{root(k)}, func(s *schema) { addRule(s, rule, message, "") })
}

func anyGiven(settings []string, places ...model.Place) string {
	var all []string
	for _, of := range settings {
		for _, place := range places {
			condition := has("self.forProvider", firstSteps(place)...)
			if of == "initProvider" {
				condition = hasOptional("self", append([]string{of}, firstSteps(place)...)...)
			}
			all = append(all, condition)
		}
	}
	return strings.Join(all, " || ")
}

func requireMessage(root string, inInit bool, ways []model.Place) string {
	var names []string
	for _, way := range ways {
		names = append(names, path(celNames(firstSteps(way))))
	}
	text := root + ".forProvider." + names[0]
	if len(names) > 1 {
		text = "one of " + text + ", " + strings.Join(names[1:len(names)-1], ", ") + " or " + names[len(names)-1]
	}
	switch {
	case root == "specTemplate":
		return text + " is required"
	case inInit:
		return text + " is required, there or in spec.initProvider, unless managementPolicies exclude Create and Update"
	}
	return text + " is required, unless managementPolicies exclude Create and Update"
}

// fixClaim fixes settings once the claim has a managed resource, since later changes have no effect. The rules are at the spec,
// so that removing the parent of a setting does not circumvent them.
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

// openTemplate requires the template although its JSON tag has omitempty, and drops transition rules: a class may change (R277).
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
	for name := range s.Properties {
		edit(s, []string{name}, withoutTransitions)
	}
	edit(s, []string{items}, withoutTransitions)
}
