// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint checks types of an API against the patterns for APIs, before anything is generated.
//
// A mistake in a type is cheap until the first object is stored, so every problem is an error. A problem has a position, the name
// of a rule and a message with what to write. An author that has a reason to break a rule states it:
//
//	// +bowline:nolint=plain-secret the name of a token, which is public
//
// Rules returns all rules.
package lint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

type problem struct {
	at            token.Position
	rule, message string
}

// Error returns file:line:column: rule: message.
func (p problem) Error() string { return fmt.Sprintf("%s: %s: %s", p.at, p.rule, p.message) }

// Check returns all problems of the packages that opted in, joined, sorted by position; nil if there are none.
func Check(api *model.API) error {
	var found findings
	for _, pkg := range api.Packages {
		if !pkg.OptedIn() {
			continue
		}
		found.markers(pkg)
		for _, k := range pkg.Kinds {
			if k.Source == nil {
				found.kind(k)
			}
		}
	}
	slices.SortFunc(found, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column),
			cmp.Compare(a.rule, b.rule), cmp.Compare(a.message, b.message))
	})
	var all []error
	for _, p := range slices.Compact(found) { // several kinds may share a type
		all = append(all, p)
	}
	return errors.Join(all...)
}

type findings []problem

func (f *findings) add(at token.Position, rule, message string) {
	if message != "" {
		*f = append(*f, problem{at, rule, message})
	}
}

func (f *findings) kind(k *model.Kind) {
	f.apply(kinds, k, nil, k.Struct.Comment, k.Struct.At)
	switch k.Role {
	case model.Managed:
		f.fields(settings, k, k.Parameters)
	case model.Claim:
		f.fields(claims, k, k.Spec)
	}
	f.fields(observations, k, k.Observation)
}

func (f *findings) fields(of part, k *model.Kind, named model.Ref) {
	if s := k.Lookup(named); s != nil {
		for _, place := range s.Walk() {
			f.apply(of, k, place, place.Field().Comment, place.Field().At)
		}
	}
}

func (f *findings) apply(of part, k *model.Kind, place model.Place, c model.Comment, at token.Position) {
	for _, r := range Rules() {
		if r.of&of != 0 && !allowed(c, r.Name) {
			f.add(at, r.Name, r.check(k, place))
		}
	}
}

func allowed(c model.Comment, rule string) bool {
	return slices.ContainsFunc(c.Markers, func(m model.Marker) bool {
		name, reason, _ := strings.Cut(m.Value, " ")
		return m.Name == nolintMarker && name == rule && strings.TrimSpace(reason) != ""
	})
}

type part int

const (
	kinds part = 1 << iota
	settings
	claims
	observations
)

// A Rule is one requirement.
type Rule struct {
	Name        string // for the marker +bowline:nolint
	Requirement string // with the ids of the patterns that it implements

	of    part
	check func(k *model.Kind, at model.Place) string // returns a message, empty if there is no problem; at is empty for kinds
}

const (
	markerRule = "marker"
	nolintRule = "nolint"
)

// Rules returns all rules, in the order in which they are applied.
func Rules() []Rule {
	return []Rule{
		// Of kinds as a whole.
		{"package-markers", "a package has markers for its group and for deepcopy functions (T30)", kinds, onKind(packageMarkers)},
		{"root", "a kind is marked as a root type, and has spec and status (K7, K8)", kinds, onKind(root)},
		{"scope", "a kind has one or both of the scopes, set by one marker (N1)", kinds, onKind(scope)},
		{"settings", "a managed kind has parameters and an observation (K4, K10)", kinds, ofRole(model.Managed, managed)},
		{"link", "the comment of parameters links to the vendor's page (P91)", kinds, ofRole(model.Managed, link)},
		{"claim", "a claim kind is namespaced, its spec optional, and its status the common one (K31, K32, K34)", kinds, ofRole(model.Claim, claim)},
		{"target", "a target kind is namespaced, its spec required, and its status the common one (K71, K72, K74)", kinds, ofRole(model.Target, targetKind)},
		{"class", "a class is a template for the cluster-scoped managed kind that it is named after (K24, K25, K29, N28)", kinds, onKind(class)},
		{"provider-config", "a managed kind has a provider configuration (N29)", kinds, ofRole(model.Managed, providerConfig)},
		// Of the fields of parameters, observations and the specs of claims.
		{"json", "fields have camelCase names in JSON (P5, P6)", settings | claims | observations, onField(jsonName)},
		{"documented", "fields have comments, which kubectl explain shows (P90)", settings | claims | observations, onField(documented)},
		{"optional", "an optional setting is a pointer, list or map with omitempty (P40, P46)", settings | claims, onField(optional)},
		{"required", "a setting without +optional is a value without omitempty (P41, P43)", settings | claims, onField(required)},
		{"collection", "lists and maps are not pointers (P46)", settings | claims, onField(collection)},
		{"demanded", "+bowline:required is for optional settings that are not in lists of several items (O32)", settings, demanded},
		{"outside-lists", "+bowline:default and +bowline:generated are for settings outside of lists and maps (P62)", settings, outsideLists},
		{"single-field", "the only field of an optional struct is required (P34)", settings | claims, onField(singleField)},
		{"immutable-list", "an immutable setting is not in a list, unless it is listType=map (N33)", settings, immutableList},
		{"immutable-reference", "a reference is immutable if its field is, a selector never (P70, P71)", settings, immutableReference},
		{"immutable-always", "an immutable setting is resolved once, never Always (N33)", settings, immutableAlways},
		{"reference", "a field that refers to a kind has a reference and a selector beside it, and the kind exists (R159)", settings, reference},
		{"sub-resource", "a setting is not a list of objects that have a kind of their own (P23)", settings, subResource},
		{"plain-secret", "secrets are not settings (P60)", settings | claims, onField(plainSecret)},
		{"secret-name", "the name of a field that selects a secret ends with SecretRef (P60)", settings, onField(secretName)},
		{"secret-comment", "the comment of an optional secret describes the value without it (P63)", settings, secretComment},
		{"claim-marker", "a claim's settings have no markers but +immutable, and that outside of lists and maps (K38)", claims, claimMarker},
		{"status-omitempty", "fields that were not observed are not shown (P50)", observations, onField(statusOmitted)},
		{"status-optional", "observed fields are not marked +optional or +immutable (P51)", observations, onField(statusOptional)},
		// Of markers: see findings.comment.
		{markerRule, "markers of bowline exist, and match the type of their field", 0, nil},
		{nolintRule, "+bowline:nolint has the name of a rule and a reason", 0, nil},
	}
}

func refuse(condition bool, format string, arguments ...any) string {
	if !condition {
		return ""
	}
	return fmt.Sprintf(format, arguments...)
}

func onKind(check func(k *model.Kind) string) func(*model.Kind, model.Place) string {
	return func(k *model.Kind, _ model.Place) string { return check(k) }
}

func ofRole(role model.Role, check func(k *model.Kind) string) func(*model.Kind, model.Place) string {
	return func(k *model.Kind, _ model.Place) string {
		if k.Role != role {
			return ""
		}
		return check(k)
	}
}

func onField(check func(f *model.Field) string) func(*model.Kind, model.Place) string {
	return func(_ *model.Kind, at model.Place) string { return check(at.Field()) }
}

const nolintMarker = "bowline:nolint"

// A fit checks the value of a marker at a field; f is nil at packages and types. It returns a message, empty if there is no
// problem.
type fit func(f *model.Field, value string) string

func knownMarkers() (ofPackages, ofTypes, ofFields map[string]fit) {
	return map[string]fit{
			"bowline:generate": anything, "bowline:system": text, "bowline:provider": text, "bowline:namespacedGroup": text,
			"bowline:providerConfigGroup": text,
		}, map[string]fit{
			"bowline:scopes": anything, "bowline:providerconfig": anything, "bowline:workload": anything, "bowline:platform": anything, nolintMarker: anything,
			model.ClassMarker: fitClaimKinds, model.ClaimsMarker: fitClaimKinds, model.DataMarker: anything,
		}, map[string]fit{
			"bowline:required": anything, "bowline:sensitive": anything, nolintMarker: anything,
			"bowline:compare": fitCompare, "bowline:default": fitDefault, "bowline:labels": fitLabels, "bowline:generated": fitGenerated,
		}
}

func anything(*model.Field, string) string { return "" }

func text(_ *model.Field, value string) string {
	if value == "" {
		return "add a value"
	}
	return ""
}

func fitCompare(f *model.Field, value string) string {
	fits := map[string]bool{
		"set": f.Type.List, "extra": f.Type.List || f.Type.Map || f.Type.Name == "string", "ignoreCase": f.Type.Name != "",
		"json": f.Type.Name == "string", "ignore": true, "writeOnly": true, "chosen": true,
	}
	for word := range strings.SplitSeq(value, ";") {
		switch ok, known := fits[strings.TrimSpace(word)]; {
		case !known:
			return fmt.Sprintf("%q is not a comparison: write one or more, separated by semicolons, of %s", word,
				strings.Join(slices.Sorted(maps.Keys(fits)), ", "))
		case !ok:
			return fmt.Sprintf("%s does not apply to a field of type %s", word, f.Type.Text)
		}
	}
	return ""
}

func fitDefault(f *model.Field, value string) string {
	var is any
	if err := json.Unmarshal([]byte(value), &is); err != nil {
		return fmt.Sprintf("%s is not JSON: quote text", value)
	}
	var ok bool
	switch is.(type) {
	case string:
		ok = holds(f, "string")
	case bool:
		ok = holds(f, "boolean")
	case float64:
		ok = holds(f, "number") || holds(f, "integer") && !strings.ContainsAny(value, ".eE")
	case []any:
		ok = holds(f, "array")
	case map[string]any:
		ok = holds(f, "object")
	}
	if !ok {
		return fmt.Sprintf("%s is not a value of type %s: write one that is", value, f.Type.Text)
	}
	return ""
}

// holds is true if the field has the type in JSON, or a type that is unknown here.
func holds(f *model.Field, typ string) bool {
	builtin := map[string]string{
		"string": "string", "bool": "boolean", "float32": "number", "float64": "number",
		"int": "integer", "int8": "integer", "int16": "integer", "int32": "integer", "int64": "integer",
		"uint": "integer", "uint8": "integer", "uint16": "integer", "uint32": "integer", "uint64": "integer",
	}
	switch known := builtin[f.Type.Name]; {
	case f.Type.Text == "[]byte":
		return typ == "string"
	case f.Type.List:
		return typ == "array"
	case f.Type.Map || f.Below() != nil:
		return typ == "object"
	case f.Type.Import == "" && known != "":
		return typ == known
	}
	return true
}

// fitClaimKinds accepts kinds with their groups. The first one is a label of the definition.
func fitClaimKinds(_ *model.Field, value string) string {
	const longest = 63
	whole := regexp.MustCompile(`^[A-Z][A-Za-z0-9]*(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`)
	for kind := range strings.SplitSeq(value, ",") {
		kind = strings.TrimSpace(kind)
		if !whole.MatchString(kind) {
			return fmt.Sprintf("%q is not a claim kind: write Kind.group, such as PostgreSQLInstance.database.crossplane.io, separated by commas",
				kind)
		}
		if len(kind) > longest {
			return fmt.Sprintf("%s has more than %d characters, the limit of a label: use a shorter name or group", kind, longest)
		}
	}
	return ""
}

func fitLabels(f *model.Field, _ string) string {
	if f.Type.Text != "map[string]string" {
		return "labels are a map[string]string, but " + f.Name + " is a " + f.Type.Text
	}
	return ""
}

func fitGenerated(f *model.Field, value string) string {
	switch {
	case !isSelector(f):
		return "only a secret can be generated, but " + f.Name + " is a " + f.Type.Text
	case value == "":
		return "add the key of the value in the connection secret, such as password"
	}
	return ""
}

func (f *findings) markers(pkg *model.Package) {
	ofPackages, ofTypes, ofFields := knownMarkers()
	f.comment(nil, pkg.Comment, ofPackages)
	for _, s := range pkg.Structs {
		f.comment(nil, s.Comment, ofTypes)
		for _, field := range s.Fields {
			f.comment(field, field.Comment, ofFields)
		}
	}
}

func (f *findings) comment(field *model.Field, c model.Comment, known map[string]fit) {
	for _, m := range c.Markers {
		if !strings.HasPrefix(m.Name, "bowline:") {
			continue
		}
		fits, ok := known[m.Name]
		if !ok {
			f.add(m.At, markerRule, fmt.Sprintf("marker +%s does not exist here: write one of +%s", m.Name,
				strings.Join(slices.Sorted(maps.Keys(known)), ", +")))
			continue
		}
		if message := fits(field, m.Value); message != "" {
			f.add(m.At, markerRule, "+"+m.Name+": "+message)
		}
		if m.Name == nolintMarker {
			f.nolint(m)
		}
	}
}

func (f *findings) nolint(m model.Marker) {
	name, reason, _ := strings.Cut(m.Value, " ")
	var names []string
	for _, r := range Rules() {
		names = append(names, r.Name)
	}
	switch {
	case !slices.Contains(names, name):
		f.add(m.At, nolintRule, fmt.Sprintf("rule %q does not exist: write one of %s", name, strings.Join(names, ", ")))
	case strings.TrimSpace(reason) == "":
		f.add(m.At, nolintRule, fmt.Sprintf("add a reason: +bowline:nolint=%s REASON", name))
	}
}
