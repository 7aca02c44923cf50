// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

const nolintMarker = "bowline:nolint"

// A fit checks the value of a marker at a field; f is nil at packages and types. It returns a message, empty if there is no problem.
type fit func(f *model.Field, value string) string

// knownMarkers returns the markers of packages, types and fields.
func knownMarkers() (ofPackages, ofTypes, ofFields map[string]fit) {
	return map[string]fit{
			"bowline:generate": anything, "bowline:system": text, "bowline:provider": text, "bowline:namespacedGroup": text,
			"bowline:providerConfigGroup": text,
		}, map[string]fit{
			"bowline:scopes": anything, "bowline:providerconfig": anything, nolintMarker: anything,
			model.ClassMarker: fitClaimKinds, model.ClaimsMarker: fitClaimKinds,
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

// markers checks every marker of bowline in a package.
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
