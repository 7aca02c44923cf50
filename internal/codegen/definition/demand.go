// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// writes is true in rules if the policies let the runtime create or update: what only observes needs no settings (O32).
const writes = "self.managementPolicies.exists(p, p in ['*', 'Create', 'Update'])"

// demandedBelow is true if a required field within the place demands the place too.
func demandedBelow(place model.Place, all []model.Place) bool {
	return slices.ContainsFunc(all, func(other model.Place) bool {
		return len(other) > len(place) && slices.Equal(other[:len(place)], place) && other.Field().Comment.Has("bowline:required") &&
			alwaysHeld(other)
	})
}

// alwaysHeld is true if all that holds a required field is required too.
func alwaysHeld(place model.Place) bool {
	return !slices.ContainsFunc(place[:len(place)-1], func(f *model.Field) bool { return !f.Comment.Has("bowline:required") && !f.Embedded })
}

// demand requires a setting, in forProvider or initProvider, by value or by one of its companions.
func demand(schema *apiextensionsv1.JSONSchemaProps, k *model.Kind, place model.Place) {
	ways := []model.Place{place}
	for _, r := range k.References() {
		if slices.Equal(r.Place, place) {
			for _, companion := range []*model.Field{r.Ref, r.Selector} {
				ways = append(ways, append(slices.Clone(place[:len(place)-1]), companion))
			}
		}
	}
	settings := []string{"forProvider"}
	if k.Init.Name != "" {
		settings = append(settings, "initProvider")
	}
	rule := "!" + writes + " || "
	if k.Role == model.Class {
		rule = "" // what is made from it is always created
	}
	if !alwaysHeld(place) {
		rule += "!(" + strings.Join(given(settings, place[:len(place)-1]), " || ") + ") || "
	}
	rule += strings.Join(given(settings, ways...), " || ")
	message := demandMessage(root(k), settings, ways)
	edit(schema, []string{root(k)}, func(s *apiextensionsv1.JSONSchemaProps) { addRule(s, rule, message, "") })
}

// given returns the conditions, one of which is true if a place has a value.
func given(settings []string, places ...model.Place) []string {
	var all []string
	for _, of := range settings {
		for _, place := range places {
			names := shown(place)
			switch {
			case of == "initProvider":
				all = append(all, "self.?initProvider.?"+strings.Join(names, ".?")+".hasValue()")
			case len(names) == 1:
				all = append(all, "has(self.forProvider."+names[0]+")")
			default:
				all = append(all, "self.forProvider.?"+strings.Join(names, ".?")+".hasValue()")
			}
		}
	}
	return all
}

// shown returns the names that lead to a place, with [0] where it is in the only item of a list.
func shown(place model.Place) []string {
	var names []string
	for i, f := range place {
		if f.JSON == "" {
			continue
		}
		name := celName(f.JSON)
		if f.Type.List && i < len(place)-1 {
			name += "[0]"
		}
		names = append(names, name)
	}
	return names
}

func demandMessage(root string, settings []string, ways []model.Place) string {
	var names []string
	for _, way := range ways {
		names = append(names, strings.Join(shown(way), "."))
	}
	text := root + ".forProvider." + names[0]
	if len(names) > 1 {
		text = "one of " + text + ", " + strings.Join(names[1:len(names)-1], ", ") + " or " + names[len(names)-1]
	}
	switch {
	case root == "specTemplate":
		return text + " is required"
	case len(settings) > 1:
		return text + " is required, there or in spec.initProvider, unless managementPolicies exclude Create and Update"
	}
	return text + " is required, unless managementPolicies exclude Create and Update"
}
