// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// valueTypes are optional settings that are no pointers, against P40. The guides print FavouriteDBInstanceParameters with
// these types; they are optional all the same, so that an object may only observe (O32), and empty is no valid value.
func valueTypes() []string { return []string{"name", "fancinessLevel"} }

// Rules for the settings of every managed kind: pointers, markers and tags.
func TestSettings(t *testing.T) {
	t.Parallel()
	kinds := managed(rootKinds(t))
	for rule, applies := range map[string]func(*testing.T, field, apiextensionsv1.JSONSchemaProps) bool{
		"P40 optional":                  optional,
		"P41 required":                  required,
		"P43 required with a reference": referable,
		"P46 optional lists and maps":   collection,
		"P63 sensitive":                 sensitive,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			found := 0
			for _, k := range kinds {
				for _, part := range []string{"ForProvider", "InitProvider"} {
					if _, ok := k.part(t, "Spec").FieldByName(part); !ok {
						continue
					}
					s := k.schema("spec", strings.ToLower(part[:1])+part[1:])
					for _, f := range fieldsOf(t, k.part(t, "Spec", part)) {
						parent := at(s, f.path[:len(f.path)-1])
						if parent.Items != nil && parent.Items.Schema != nil {
							parent = *parent.Items.Schema
						}
						if _, defined := parent.Properties[f.json()]; !defined {
							t.Errorf("%s: %s is not in the definition", k, f)
						}
						if applies(t, f, parent) {
							found++
						}
					}
				}
			}
			if found == 0 {
				t.Error("applies to no setting, and so proves nothing")
			}
		})
	}
}

func isOptional(f field) bool { return has(f.comment, "+optional") }

func isCollection(typ reflect.Type) bool {
	return typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map
}

// optional wants a pointer with omitempty where the marker is, and the definition not to require the field.
func optional(t *testing.T, f field, parent apiextensionsv1.JSONSchemaProps) bool {
	if !isOptional(f) {
		return false
	}
	if f.Type.Kind() != reflect.Pointer && !isCollection(f.Type) && !slices.Contains(valueTypes(), f.String()) {
		t.Errorf("%s is optional and of type %s", f, f.Type)
	}
	if !f.omitted() || slices.Contains(parent.Required, f.json()) {
		t.Errorf("%s is optional, has the tag %q, and the definition requires %v", f, f.Tag, parent.Required)
	}
	return true
}

// required wants a value without omitempty where no marker is, and the definition to require the field.
func required(t *testing.T, f field, parent apiextensionsv1.JSONSchemaProps) bool {
	if isOptional(f) {
		return false
	}
	if f.Type.Kind() == reflect.Pointer || f.omitted() || !slices.Contains(parent.Required, f.json()) {
		t.Errorf("%s is required, of type %s, has the tag %q, and the definition requires %v", f, f.Type, f.Tag, parent.Required)
	}
	return true
}

// companions are the fields that may stand in for a field: references and a selector.
func companions(name string) []string {
	one := strings.TrimSuffix(name, "s")
	return []string{name + "Ref", one + "Refs", name + "Selector", one + "Selector"}
}

// referable wants a field with companions to be left out of JSON when it is empty, and not to be required.
func referable(t *testing.T, f field, parent apiextensionsv1.JSONSchemaProps) bool {
	if !slices.ContainsFunc(companions(f.json()), func(name string) bool { _, ok := parent.Properties[name]; return ok }) {
		return false
	}
	if !f.omitted() || slices.Contains(parent.Required, f.json()) {
		t.Errorf("%s has the tag %q, and the definition requires %v", f, f.Tag, parent.Required)
	}
	return true
}

// collection wants no pointers to lists and maps.
func collection(t *testing.T, f field, _ apiextensionsv1.JSONSchemaProps) bool {
	if f.Type.Kind() == reflect.Pointer && isCollection(f.Type.Elem()) {
		t.Errorf("%s is of type %s", f, f.Type)
	}
	return isCollection(f.Type) && isOptional(f)
}

// sensitive wants a text that says what is used without a reference, in the source and for kubectl explain.
func sensitive(t *testing.T, f field, parent apiextensionsv1.JSONSchemaProps) bool {
	if !strings.HasSuffix(f.json(), "SecretRef") {
		return false
	}
	if f.Type != reflect.TypeFor[*xpv1.SecretKeySelector]() && f.Type != reflect.TypeFor[*xpv1.LocalSecretKeySelector]() {
		t.Errorf("%s is of type %s", f, f.Type)
	}
	says := regexp.MustCompile(`(?s)generates a random.* if it is not\s+set`)
	if !says.MatchString(prose(f.comment)) || !says.MatchString(parent.Properties[f.json()].Description) {
		t.Errorf("%s does not say that a random value is generated: %s", f, f.comment)
	}
	return true
}

// Every field that is marked as immutable is protected by the API server, and no other.
func TestImmutable(t *testing.T) {
	t.Parallel()
	both := 0
	for _, k := range managed(rootKinds(t)) {
		marked := map[string]bool{}
		parameters := k.schema("spec", "forProvider")
		for _, f := range fieldsOf(t, k.part(t, "Spec", "ForProvider")) {
			if !has(f.comment, "+immutable") {
				continue
			}
			marked[f.String()] = true
			if isOptional(f) {
				both++
			}
		}
		t.Run("R177 P70 N7 marked is protected "+k.String(), func(t *testing.T) {
			t.Parallel()
			if len(marked) == 0 {
				t.Error("no immutable field")
			}
			if diff := cmp.Diff(sorted(marked), protected(t, parameters)); diff != "" {
				t.Errorf("-marked in the source +protected by the definition:\n%s", diff)
			}
			for _, f := range fieldsOf(t, k.part(t, "Status")) {
				if has(f.comment, "+immutable") {
					t.Errorf("%s of the status is marked", f)
				}
			}
		})
		t.Run("R177 P71 references "+k.String(), func(t *testing.T) {
			t.Parallel()
			for name := range parameters.Properties {
				for _, c := range companions(name) {
					if _, ok := parameters.Properties[c]; !ok {
						continue
					}
					if want := marked[name] && !strings.HasSuffix(c, "Selector"); marked[c] != want {
						t.Errorf("%s immutable: %t, %s: %t", name, marked[name], c, marked[c])
					}
				}
			}
		})
		t.Run("P72 immutable and optional "+k.String(), func(t *testing.T) {
			t.Parallel()
			for _, name := range parameters.Required {
				if marked[name] {
					t.Errorf("%s cannot be set later", name)
				}
			}
		})
	}
	if both == 0 {
		t.Error("no field is immutable and optional")
	}
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// protected returns the fields that have the rule of N7: what is set can neither change nor be removed. It fails for other
// rules about earlier values.
func protected(t *testing.T, s apiextensionsv1.JSONSchemaProps) []string {
	t.Helper()
	var names []string
	for _, rule := range s.XValidations {
		if !strings.Contains(rule.Rule, "oldSelf") {
			continue
		}
		_, name, _ := strings.Cut(rule.FieldPath, ".")
		want := strings.ReplaceAll("!has(oldSelf.F) || (has(self.F) && self.F == oldSelf.F)", "F", name)
		if name == "" || rule.Rule != want {
			t.Errorf("rule of %q is %s, want %s", name, rule.Rule, want)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Rules for what every managed kind reports.
func TestObservations(t *testing.T) {
	t.Parallel()
	for _, k := range managed(rootKinds(t)) {
		for rule, broken := range map[string]func(field) bool{
			"P50 left out when empty": func(f field) bool { return !f.omitted() },
			"P51 no optional marker":  isOptional,
		} {
			t.Run(rule+" "+k.String(), func(t *testing.T) {
				t.Parallel()
				fields := fieldsOf(t, k.part(t, "Status", "AtProvider"))
				if len(fields) == 0 {
					t.Error("nothing is reported")
				}
				for _, f := range fields {
					if broken(f) {
						t.Errorf("%s: tag %q, comment %q", f, f.Tag, f.comment)
					}
				}
				if required := k.schema("status", "atProvider").Required; len(required) > 0 {
					t.Errorf("the definition requires %v", required)
				}
			})
		}
	}
}
