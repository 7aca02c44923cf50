// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

// A field is one of a Go type, at any depth, beside the schema of the object that it belongs to.
type field struct {
	reflect.StructField
	json   string
	parent apiextensionsv1.JSONSchemaProps
}

func (f field) omitted() bool {
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.Contains(options, "omitempty") && f.Type.Kind() != reflect.Struct || strings.Contains(options, "omitzero")
}

func (f field) required() bool { return slices.Contains(f.parent.Required, f.json) }

// fieldsOf returns the fields of a type and of the structs of this repository below it.
func fieldsOf(t *testing.T, typ reflect.Type, s apiextensionsv1.JSONSchemaProps) []field {
	t.Helper()
	if s.Items != nil {
		s = *s.Items.Schema
	}
	var all []field
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			all = append(all, fieldsOf(t, f.Type, s)...)
			continue
		}
		below, defined := s.Properties[name]
		if !defined {
			t.Errorf("%s of %s is not in the definition", name, typ)
		}
		all = append(all, field{f, name, s})
		of := f.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct && strings.HasPrefix(of.PkgPath(), module) {
			all = append(all, fieldsOf(t, of, below)...)
		}
	}
	return all
}

func settingsOf(t *testing.T, k rootKind) []field {
	t.Helper()
	all := fieldsOf(t, k.part(t, "Spec", "ForProvider"), k.schema("spec", "forProvider"))
	if _, ok := k.part(t, "Spec").FieldByName("InitProvider"); ok {
		all = append(all, fieldsOf(t, k.part(t, "Spec", "InitProvider"), k.schema("spec", "initProvider"))...)
	}
	return all
}

func observationsOf(t *testing.T, k rootKind) []field {
	t.Helper()
	return fieldsOf(t, k.part(t, "Status", "AtProvider"), k.schema("status", "atProvider"))
}

// requiresSettings requires what the markers of the source, which package lint checks, come to: a required setting is a value
// without omitempty; others are left out when they are empty, those with a reference too, and lists and maps are no pointers.
// separatesSettings compares structs that the external resource has once and the kind has in two halves.
func separatesSettings(t *testing.T, k rootKind) {
	settings, observations := k.schema("spec", "forProvider"), k.schema("status", "atProvider")
	for name, observed := range observations.Properties {
		for field := range observed.Properties {
			if _, both := settings.Properties[name].Properties[field]; both {
				t.Errorf("%s.%s is in forProvider and in atProvider", name, field)
			}
		}
	}
}

func requiresSettings(t *testing.T, k rootKind) {
	for _, f := range settingsOf(t, k) {
		collection := f.Type.Kind() == reflect.Pointer && slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map}, f.Type.Elem().Kind())
		if f.required() == f.omitted() || f.required() && f.Type.Kind() == reflect.Pointer || collection {
			t.Errorf("%s is of type %s, has the tag %q, and is required: %t", f.json, f.Type, f.Tag, f.required())
		}
		referable := slices.ContainsFunc(companions(f.json), func(name string) bool { return f.parent.Properties[name].Type != "" })
		if referable && f.required() {
			t.Errorf("%s may be set by a reference and is required", f.json)
		}
	}
}

// companions are the fields that may stand in for a field: references and a selector.
func companions(name string) []string {
	one := strings.TrimSuffix(name, "s")
	return []string{name + "Ref", one + "Refs", name + "Selector", one + "Selector"}
}

func describesSecrets(t *testing.T, k rootKind) {
	random := regexp.MustCompile(`(?s)generates a random.* if it is not\s+set`)
	for _, f := range settingsOf(t, k) {
		if !strings.HasSuffix(f.json, "SecretRef") {
			continue
		}
		if f.Type != reflect.TypeFor[*xpv1.SecretKeySelector]() && f.Type != reflect.TypeFor[*xpv1.LocalSecretKeySelector]() {
			t.Errorf("%s is of type %s", f.json, f.Type)
		}
		if text := f.parent.Properties[f.json].Description; !random.MatchString(text) {
			t.Errorf("the description of %s does not mention the random value: %s", f.json, text)
		}
	}
}

func omitsObservations(t *testing.T, k rootKind) {
	all := observationsOf(t, k)
	if len(all) == 0 {
		t.Error("nothing is observed")
	}
	for _, f := range all {
		if !f.omitted() || f.required() {
			t.Errorf("%s has the tag %q and is required: %t", f.json, f.Tag, f.required())
		}
	}
}

// protectsImmutable requires a rule of the definition for every immutable setting and no other. A reference is as immutable as
// its setting; a selector never is.
func protectsImmutable(t *testing.T, k rootKind) {
	typ := reflect.PointerTo(k.part(t, "Spec", "ForProvider"))
	immutable := reflect.Zero(typ).Interface().(interface{ FieldRules() parameters.Rules }).FieldRules().Immutable
	s := k.schema("spec", "forProvider")
	want := slices.Clone(immutable)
	for _, name := range immutable {
		if slices.Contains(s.Required, name) {
			t.Errorf("%s cannot be set later", name)
		}
		for _, companion := range companions(name)[:2] {
			if _, ok := s.Properties[companion]; ok {
				want = append(want, companion)
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), protected(t, s)); diff != "" || len(immutable) == 0 {
		t.Errorf("-immutable +protected by the definition:\n%s", diff)
	}
}

// protected returns the fields with the rule that a value, once set, can neither change nor be removed (N7). It refuses other
// rules on earlier values.
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

// spellsAcronyms requires acronyms in upper case in Go, and as words in lower camel case in JSON.
func spellsAcronyms(t *testing.T, k rootKind) {
	for _, f := range append(settingsOf(t, k), observationsOf(t, k)...) {
		if want := lowerCamel(f.Name); f.json != want {
			t.Errorf("%s is %s in JSON, want %s", f.Name, f.json, want)
		}
		for _, acronym := range []string{"Id", "Ip", "Cidr", "Dns", "Mtu", "Url", "Api"} {
			if i := strings.Index(f.Name+".", acronym); i >= 0 && !unicode.IsLower(rune((f.Name + ".")[i+len(acronym)])) {
				t.Errorf("%s has an acronym that is not in upper case", f.Name)
			}
		}
	}
}

func TestLowerCamel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ID": "id", "IPVersion": "ipVersion", "SecondaryIPRanges": "secondaryIpRanges", "SubnetIDs": "subnetIds",
		"SubnetIDRefs": "subnetIdRefs", "FancinessLevel": "fancinessLevel", "DNSServers": "dnsServers",
	} {
		if got := lowerCamel(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// lowerCamel returns the JSON name of a field: an acronym is a word, and so is the plural of one.
func lowerCamel(name string) string {
	name = regexp.MustCompile(`[A-Z]{2,}s($|[A-Z])`).ReplaceAllStringFunc(name, func(plural string) string {
		end := strings.Index(plural, "s") + 1
		return plural[:1] + strings.ToLower(plural[1:end]) + plural[end:]
	})
	name = regexp.MustCompile(`([A-Z])([A-Z][a-z])`).ReplaceAllString(name, "${1}_$2")
	name = regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(name, "${1}_$2")
	return camel(strings.ToLower(name))
}

// camel returns the name of the cloud's JSON as ours.
func camel(snake string) string {
	words := strings.Split(snake, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}
