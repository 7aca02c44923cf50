// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// constrain writes the rules that markers of settings stand for.
func constrain(schema *apiextensionsv1.JSONSchemaProps, k *model.Kind) {
	switch k.Role {
	case model.Claim:
		keepSpec(schema)
		settle(schema, k)
	case model.Class:
		openTemplate(schema)
	}
	parameters := k.Lookup(k.Parameters)
	if parameters == nil {
		return
	}
	places := parameters.Walk()
	for _, place := range places {
		if place.Field().Comment.Has("immutable") {
			fix(schema, k, place)
		}
	}
	for _, r := range k.References() {
		if r.Place.Field().Comment.Has("immutable") {
			resolveOnce(schema, k, r.Place, r.Ref)
			resolveOnce(schema, k, r.Place, r.Selector)
		}
	}
	for _, place := range places {
		if place.Field().Comment.Has("bowline:required") && !demandedBelow(place, places) {
			demand(schema, k, place)
		}
		if k.Scope == model.Namespaced && place.Field().Type.Is(model.CommonPath, "SecretKeySelector") {
			stayInNamespace(schema, place)
		}
	}
}

// fix lets an immutable field be set once and never change (N7). The rule is as far up as it can be, so that nobody gets
// around it by removing what holds the field: at spec.forProvider, or at the items of a list that is a map. A class may
// change (R277), so that there the value only has to fit.
func fix(schema *apiextensionsv1.JSONSchemaProps, k *model.Kind, place model.Place) {
	at, below := holder(k, place)
	message := path(below) + " is immutable: create another " + k.Noun() + " instead"
	edit(schema, at, func(s *apiextensionsv1.JSONSchemaProps) {
		if k.Role != model.Class {
			addRule(s, setOnce(below), message, "."+path(below))
		}
		edit(s, below, bound)
	})
	at[1] = "initProvider" // what it holds is to fit into forProvider
	edit(schema, append(at, below...), bound)
	if k.Role == model.Managed && k.Init.Name != "" && len(at) == 2 {
		fixInitial(schema, k, place, below)
	}
}

// fixInitial keeps an immutable field as spec.initProvider has it, since that may say where the external resource is: it would be
// looked for, and made again, elsewhere. What spec.forProvider sets, or refers to, counts instead and has a rule of its own. In
// lists spec.initProvider counts at creation only.
func fixInitial(schema *apiextensionsv1.JSONSchemaProps, k *model.Kind, place model.Place, below []string) {
	has := func(object, settings string, names []string) string {
		return object + "." + settings + ".?" + strings.Join(each(names, celName), ".?") + ".hasValue()"
	}
	plain := strings.Join(each(below, celName), ".")
	free := has("oldSelf", "forProvider", below)
	for _, r := range k.References() {
		if r.Ref == place.Field() {
			return // what it became stays
		}
		if slices.Equal(r.Place, place) {
			for _, companion := range []*model.Field{r.Ref, r.Selector} {
				free += " || " + has("oldSelf", "forProvider", append(slices.Clone(below[:len(below)-1]), companion.JSON))
			}
		}
	}
	free += " || !" + has("oldSelf", "?initProvider", below) + " || "
	same := has("self", "?initProvider", below) + " && self.initProvider." + plain + " == oldSelf.initProvider." + plain
	enforced := has("self", "forProvider", below)
	rule := free + "(" + enforced + " ? self.forProvider." + plain + " == oldSelf.initProvider." + plain + " : " + same + ")"
	edit(schema, append([]string{"spec", "forProvider"}, below...), func(s *apiextensionsv1.JSONSchemaProps) {
		if holdsObjects(s) { // those of two places cannot be compared
			rule = free + enforced + " || (" + same + ")"
		}
	})
	message := path(below) + " was set in spec.initProvider and is immutable: create another " + k.Noun() + " instead"
	edit(schema, []string{"spec"}, func(s *apiextensionsv1.JSONSchemaProps) { addRule(s, rule, message, "") })
}

// holdsObjects is true for objects with properties, and lists of them.
func holdsObjects(s *apiextensionsv1.JSONSchemaProps) bool {
	return len(s.Properties) > 0 || s.Items != nil && s.Items.Schema != nil && holdsObjects(s.Items.Schema)
}

func setOnce(below []string) string {
	if len(below) == 1 {
		return strings.ReplaceAll("!has(oldSelf.F) || (has(self.F) && self.F == oldSelf.F)", "F", celName(below[0]))
	}
	optional, plain := "", ""
	for _, name := range below {
		optional, plain = optional+".?"+celName(name), plain+"."+celName(name)
	}
	return "!oldSelf" + optional + ".hasValue() || (self" + optional + ".hasValue() && self" + plain + " == oldSelf" + plain + ")"
}

// bound limits the size of a value that is compared, so that the rule stays within the cost that API servers accept (N33).
// What the author limited stays.
func bound(s *apiextensionsv1.JSONSchemaProps) {
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
		if s.Items != nil && s.Items.Schema != nil {
			bound(s.Items.Schema)
		}
	case "object":
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			if s.MaxProperties == nil {
				s.MaxProperties = new(int64(most))
			}
			bound(s.AdditionalProperties.Schema)
		}
		for _, name := range sortedNames(s.Properties) {
			edit(s, []string{name}, bound)
		}
	}
}

// resolveOnce refuses the resolve policy Always for what an immutable field comes from (N33).
func resolveOnce(schema *apiextensionsv1.JSONSchemaProps, k *model.Kind, place model.Place, companion *model.Field) {
	beside := append(slices.Clone(place[:len(place)-1]), companion)
	at, below := holder(k, beside)
	optional := ""
	for _, name := range below {
		optional += ".?" + celName(name)
	}
	rule := "self" + optional + ".?policy.?resolve.orValue('IfNotPresent') != 'Always'"
	message := "what it resolves to is immutable: policy.resolve must not be Always"
	if companion.Type.List {
		has, plain := "has(self."+celName(below[0])+")", "self."+celName(below[0])
		if len(below) > 1 {
			has, plain = "self"+optional+".hasValue()", "self."+strings.Join(each(below, celName), ".")
		}
		rule = "!" + has + " || " + plain + ".all(r, r.?policy.?resolve.orValue('IfNotPresent') != 'Always')"
		message = "what they resolve to is immutable: policy.resolve must not be Always"
	}
	for _, settings := range []string{"forProvider", "initProvider"} {
		at[1] = settings
		edit(schema, at, func(s *apiextensionsv1.JSONSchemaProps) { addRule(s, rule, message, "."+path(below)) })
	}
}

// stayInNamespace refuses the namespace of a Secret: that of a namespaced object is in its own namespace, whatever the type
// that it shares with the cluster-scoped kind demands (N2). An empty one stands for none, since Go writes it.
func stayInNamespace(schema *apiextensionsv1.JSONSchemaProps, place model.Place) {
	for _, settings := range []string{"forProvider", "initProvider"} {
		at := append([]string{"spec", settings}, steps(place)...)
		if place.Field().Type.Collection() {
			at = append(at, items)
		}
		edit(schema, at, func(s *apiextensionsv1.JSONSchemaProps) {
			s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == "namespace" })
			edit(s, []string{"namespace"}, func(namespace *apiextensionsv1.JSONSchemaProps) {
				namespace.MinLength, namespace.MaxLength = nil, new(int64(63))
			})
			addRule(s, "!has(self.__namespace__) || self.__namespace__ == ''",
				"the Secret of a namespaced object is in its own namespace: leave namespace out", "")
		})
	}
}

// holder returns where the rule on a field goes, and the names that lead from there to the field.
func holder(k *model.Kind, place model.Place) (at, below []string) {
	all := append([]string{root(k), "forProvider"}, steps(place)...)
	last := -1
	for i, step := range all[:len(all)-1] {
		if step == items {
			last = i
		}
	}
	if place.Field().Type.Collection() && all[len(all)-1] == items {
		all = all[:len(all)-1]
	}
	if last < 0 || last >= len(all)-1 {
		return all[:2], all[2:]
	}
	return all[:last+1], all[last+1:]
}

// root is the property that holds the settings.
func root(k *model.Kind) string {
	if k.Role == model.Class {
		return "specTemplate"
	}
	return "spec"
}

// items is the step from a list or map to what it holds.
const items = "[]"

// steps returns the properties that lead to a field from the settings, with items where lists and maps lie between.
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

// edit changes the schema that steps lead to, if there is one.
func edit(s *apiextensionsv1.JSONSchemaProps, at []string, change func(*apiextensionsv1.JSONSchemaProps)) {
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
	property, ok := s.Properties[at[0]]
	if !ok {
		return
	}
	edit(&property, at[1:], change)
	s.Properties[at[0]] = property
}

// addRule adds a rule unless the author wrote the same.
func addRule(s *apiextensionsv1.JSONSchemaProps, rule, message, fieldPath string) {
	if slices.ContainsFunc(s.XValidations, func(v apiextensionsv1.ValidationRule) bool { return v.Rule == rule }) {
		return
	}
	s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: rule, Message: message, FieldPath: fieldPath})
}

func path(names []string) string { return strings.Join(names, ".") }

func each(all []string, change func(string) string) []string {
	changed := make([]string, len(all))
	for i := range all {
		changed[i] = change(all[i])
	}
	return changed
}

// celName returns a property as rules have to spell it.
func celName(name string) string {
	reserved := []string{"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
		"import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}
	if slices.Contains(reserved, name) {
		return "__" + name + "__"
	}
	return strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__").Replace(name)
}
