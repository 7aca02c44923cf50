// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// settingRules judge the fields of parameters.
func settingRules() []fieldRule {
	return []fieldRule{
		{Rule{"json", "fields have camelCase names in JSON (P5, P6)"}, jsonName},
		{Rule{"documented", "fields have comments, which kubectl explain shows (P90)"}, documented},
		{Rule{"optional", "an optional setting is a pointer, list or map with omitempty (P40, P46)"}, optional},
		{Rule{"required", "a setting without +optional is a value without omitempty (P41, P43)"}, required},
		{Rule{"collection", "lists and maps are no pointers (P46)"}, collection},
		{Rule{"demanded", "+bowline:required is for optional settings that are not in lists of several items (O32)"}, demanded},
		{Rule{"outside-lists", "+bowline:default and +bowline:generated are for settings that are in no list or map (P62)"}, outsideLists},
		{Rule{"single-field", "the only field of an optional struct is required (P34)"}, singleField},
		{Rule{"immutable-list", "an immutable setting is not in a list, unless it is listType=map (N33)"}, immutableList},
		{Rule{"immutable-reference", "a reference is immutable if its field is, a selector never (P70, P71)"}, immutableReference},
		{Rule{"immutable-always", "an immutable setting is resolved once, never Always (N33)"}, immutableAlways},
		{Rule{"reference", "a field that refers to a kind has a reference and a selector beside it, and the kind exists (R159)"}, reference},
		{Rule{"sub-resource", "what is a kind of its own is no setting of another (P23)"}, subResource},
		{Rule{"plain-secret", "secrets are no settings (P60)"}, plainSecret},
		{Rule{"secret-name", "a field that selects a secret is named SecretRef (P60)"}, secretName},
		{Rule{"secret-comment", "the comment of a secret says what happens without it (P63)"}, secretComment},
	}
}

func jsonName(_ *model.Kind, at model.Place) string {
	f := at.Field()
	if f.JSON == "" {
		return fmt.Sprintf("%s has no json tag: add `json:\"%s,omitempty\"`", f.Name, lowerCamel(f.Name))
	}
	if !regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`).MatchString(f.JSON) {
		return fmt.Sprintf("%s is no camelCase: call it %s", f.JSON, lowerCamel(f.Name))
	}
	if slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, f.JSON) {
		return fmt.Sprintf("%s is no name in YAML, whose parsers read a truth value: use another word", f.JSON)
	}
	return ""
}

func lowerCamel(name string) string {
	i := 0
	for i < len(name) && name[i] >= 'A' && name[i] <= 'Z' {
		i++
	}
	if i > 1 && i < len(name) {
		i--
	}
	return strings.ToLower(name[:i]) + name[i:]
}

func documented(_ *model.Kind, at model.Place) string {
	if at.Field().Comment.Text() != "" {
		return ""
	}
	return at.Field().Name + " has no comment: say what it means, its unit, its limits and what happens without it"
}

func optional(_ *model.Kind, at model.Place) string {
	f := at.Field()
	switch {
	case !f.Optional():
		return ""
	case !f.Type.Pointer && !f.Type.Collection():
		return fmt.Sprintf("%s is optional: make it *%s, so that unset differs from empty", f.Name, f.Type.Text)
	case !f.Omitted() && f.JSON != "":
		return fmt.Sprintf("%s is optional: add omitempty to its json tag", f.Name)
	}
	return ""
}

func required(_ *model.Kind, at model.Place) string {
	f := at.Field()
	switch {
	case f.Comment.Has(model.ReferenceType):
		if !f.Omitted() {
			return fmt.Sprintf("%s may come from a reference: add omitempty to its json tag", f.Name)
		}
	case !f.Optional() && (f.Type.Pointer || f.Omitted()):
		return fmt.Sprintf("%s is not marked +optional: mark it, or make it a value without omitempty if nothing works without it", f.Name)
	}
	return ""
}

func collection(_ *model.Kind, at model.Place) string {
	if f := at.Field(); f.Type.Pointer && f.Type.Collection() {
		return fmt.Sprintf("%s is a pointer to a list or map: make it %s", f.Name, strings.TrimPrefix(f.Type.Text, "*"))
	}
	return ""
}

func demanded(_ *model.Kind, at model.Place) string {
	f := at.Field()
	if !f.Comment.Has("bowline:required") {
		return ""
	}
	if !f.Optional() {
		return fmt.Sprintf("%s is required by its type already: make it an optional pointer, so that objects may only observe", f.Name)
	}
	for _, holder := range at[:len(at)-1] {
		if holder.Type.Map || holder.Type.List && holder.Comment.Value("kubebuilder:validation:MaxItems") != "1" {
			return fmt.Sprintf("%s is in %s, which may have several items: leave out +bowline:required and make it a value without omitempty",
				f.Name, holder.Name)
		}
	}
	return ""
}

func outsideLists(_ *model.Kind, at model.Place) string {
	f := at.Field()
	for _, marker := range []string{"bowline:default", "bowline:generated"} {
		for _, holder := range at[:len(at)-1] {
			if f.Comment.Has(marker) && holder.Type.Collection() {
				return fmt.Sprintf("%s is in %s, whose items have no +%s: leave the marker out", f.Name, holder.Name, marker)
			}
		}
	}
	return ""
}

func singleField(_ *model.Kind, at model.Place) string {
	f := at.Field()
	below := f.Below()
	if !f.Type.Pointer || below == nil || len(below.Fields) != 1 || below.Fields[0].Embedded || !below.Fields[0].Optional() {
		return ""
	}
	return fmt.Sprintf("%s is optional and %s, its only field, too: make that a value without omitempty, so that an empty %s means nothing",
		f.Name, below.Fields[0].Name, f.JSON)
}

func subResource(k *model.Kind, at model.Place) string {
	f := at.Field()
	if f.Below() == nil {
		return ""
	}
	for _, pkg := range k.Package.API.Packages {
		for _, other := range pkg.Kinds {
			if name := strings.ToLower(other.Name); other.Role == model.Managed && len(at) == 1 &&
				(strings.EqualFold(f.JSON, name) || strings.EqualFold(f.JSON, name+"s") || strings.EqualFold(f.JSON, name+"es")) {
				return fmt.Sprintf("%s are objects of kind %s: leave the field out, or refer to them by %sRefs", f.JSON, other.Name,
					strings.TrimSuffix(f.Name, "s"))
			}
		}
	}
	return ""
}

func isSelector(f *model.Field) bool {
	return f.Type.Is(model.CommonPath, "SecretKeySelector") || f.Type.Is(model.CommonPath, "LocalSecretKeySelector")
}

func plainSecret(_ *model.Kind, at model.Place) string {
	f := at.Field()
	secret := regexp.MustCompile(`(?i)(password|passphrase|secret|token|(private|api|access|secret)key)s?$`)
	if f.Type.Name != "string" || !secret.MatchString(f.Name) {
		return ""
	}
	return fmt.Sprintf("%s looks like a secret, which everybody who may read the object would see: "+
		"make it %sSecretRef *xpv1.SecretKeySelector", f.Name, f.Name)
}

func secretName(_ *model.Kind, at model.Place) string {
	f := at.Field()
	switch named := strings.HasSuffix(f.Name, "SecretRef") && strings.HasSuffix(f.JSON, "SecretRef"); {
	case isSelector(f) && !named:
		return fmt.Sprintf("%s selects a secret: call it %sSecretRef", f.Name, f.Name)
	case named && !isSelector(f) && f.Type.Name != "":
		return fmt.Sprintf("%s is named like a reference to a secret: make it *xpv1.SecretKeySelector", f.Name)
	}
	return ""
}

// secretComment holds a comment to what the runtime does. What the external system does, the comment says of that.
func secretComment(k *model.Kind, at model.Place) string {
	f := at.Field()
	if !isSelector(f) || !f.Optional() {
		return ""
	}
	says := strings.ToLower(f.Comment.Text())
	system := cmp.Or(k.Package.Comment.Value("bowline:system"), "the external system")
	switch generated, random := f.Comment.Has("bowline:generated"), strings.Contains(says, "random"); {
	case generated && !random:
		return fmt.Sprintf("the comment of %s does not say that a random value is generated if it is not set", f.Name)
	case random && !generated && !strings.Contains(says, strings.ToLower(system)):
		return fmt.Sprintf("the comment of %s promises a random value, which nobody generates: mark it +bowline:generated=KEY, or say "+
			"that %s generates it", f.Name, system)
	}
	return ""
}
