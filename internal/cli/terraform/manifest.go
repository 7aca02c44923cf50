// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

const (
	longestNote = 160
	// deepest is the number of levels of optional objects that a manifest shows: some types contain themselves many times.
	deepest = 4
)

// manifest returns a manifest to fill in. Its placeholders are of the form <string>.
func manifest(s *source, resourceType, namespace string) string {
	b := s.types[resourceType].Block
	apiVersion, kind := kindOf(s.name, resourceType, namespace != "")
	plural := kinds.Names(s.name, resourceType).Plural
	o := outline{namespaced: namespace != ""}
	lines := []string{note("# "+resourceType+" of Terraform provider "+s.name+".", b.Description, b.Deprecated),
		"# Replace what is in angle brackets. To set another field, remove the # before it.",
		"# More about a field: bowline kubectl explain --api-version " + apiVersion + " " + plural + ".spec.forProvider.FIELD",
		"apiVersion: " + apiVersion, "kind: " + kind, "metadata:", "  name: <name>"}
	if namespace != "" {
		lines = append(lines, "  namespace: "+namespace)
	}
	lines = append(lines, "  # annotations:", "  #   crossplane.io/external-name: <id> # Its id, to manage what exists, see terraform import. Default: it is created.",
		"spec:")
	lines = append(lines, indent(o.nested("forProvider", o.object(b, false, 0)))...)
	lines = append(lines, indent(comment(o.common()))...)
	return strings.Join(lines, "\n") + "\n"
}

// An outline has the lines of objects. Optional fields are comments, in which those of optional objects are comments again.
type outline struct{ namespaced bool }

func (o outline) secret() string {
	if o.namespaced {
		return "{name: <secret>, key: <key>}"
	}
	return "{name: <secret>, namespace: <namespace>, key: <key>}"
}

// common are fields that all kinds have.
func (o outline) common() []string {
	lines := []string{"references: # They set fields of forProvider to the ids, or other values, of other objects.", "- field: <field>", "  kind: <kind>",
		"  name: <name>", "providerConfigRef:"}
	if o.namespaced {
		return append(lines, "  kind: ClusterProviderConfig # or ProviderConfig, of the same namespace", "  name: default",
			"writeConnectionSecretToRef: # The Secret for what is secret of the resource.", "  name: <secret>")
	}
	return append(lines, "  name: default", "writeConnectionSecretToRef: # The Secret for what is secret of the resource.", "  name: <secret>",
		"  namespace: <namespace>")
}

// object returns the lines of the fields. With all, those of an object without required fields are no comments.
func (o outline) object(b *schema.Block, all bool, depth int) []string {
	var lines []string
	fields := fieldsOf(b)
	all = all && (len(fields) == 0 || !fields[0].required)
	for _, f := range fields {
		if depth == 0 && f.argument == "id" && f.computed { // the external name
			continue
		}
		if f.required {
			lines = append(lines, o.field(f, false, depth)...)
		} else if all {
			lines = append(lines, o.field(f, true, depth+1)...)
		} else {
			lines = append(lines, comment(o.field(f, true, depth+1))...)
		}
	}
	return lines
}

func (o outline) field(f field, all bool, depth int) []string {
	name := quoted(f.name)
	switch {
	case f.secret:
		return []string{note(name+": "+o.secret(), f.description, f.deprecated)}
	case f.inner == nil:
		return []string{note(name+": "+placeholder(f.attribute.Type), f.description, f.deprecated)}
	case depth > deepest:
		return []string{name + ": {} # See kubectl explain."}
	}
	inner := o.object(f.inner, all, depth)
	var lines []string
	switch f.nesting {
	case schema.List, schema.Set:
		inner = o.nested("", inner)
		for range max(1, f.least) {
			for i, line := range inner {
				lines = append(lines, map[bool]string{true: "- ", false: "  "}[i == 0]+line)
			}
		}
	case schema.Map:
		lines = indent(o.nested("<key>", inner))
	default:
		lines = o.nested(name, inner)
		lines[0] = note(lines[0], f.description, f.deprecated)
		return lines
	}
	return append([]string{note(name+":", limits(f)+f.description, f.deprecated)}, lines...)
}

func limits(f field) string {
	switch {
	case f.nesting == schema.Map:
		return ""
	case f.least > 0 && f.most > 0:
		return fmt.Sprintf("A list of %d to %d. ", f.least, f.most)
	case f.least > 0:
		return fmt.Sprintf("A list of at least %d. ", f.least)
	case f.most > 0:
		return fmt.Sprintf("A list of at most %d. ", f.most)
	}
	return "A list. "
}

// nested returns an object as the value of a name, or as an item of a list. One without fields has to be written as {}.
func (o outline) nested(name string, fields []string) []string {
	empty := true
	for _, line := range fields {
		empty = empty && strings.HasPrefix(line, "#")
	}
	head := name + ":"
	switch {
	case name == "" && !empty:
		return fields
	case name == "" && empty:
		return append([]string{"{}" + instead(fields)}, fields...)
	case empty:
		head += " {}" + instead(fields)
	}
	return append([]string{head}, indent(fields)...)
}

func instead(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return " # Remove {} to set a field."
}

// placeholder returns a type as a value of it in YAML.
func placeholder(t cty.Type) string {
	switch {
	case t == cty.DynamicPseudoType:
		return "<any value>"
	case t == cty.Bool:
		return "<true or false>"
	case t.IsPrimitiveType():
		return "<" + t.FriendlyName() + ">"
	case t.IsMapType():
		return "{<key>: " + placeholder(t.ElementType()) + "}"
	case t.IsObjectType():
		b := typed(t)
		fields := make([]string, len(b.Attributes))
		for i, a := range b.Attributes {
			fields[i] = quoted(fieldName(b, a.Name)) + ": " + placeholder(a.Type)
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case t.IsTupleType():
		items := make([]string, t.Length())
		for i, item := range t.TupleElementTypes() {
			items[i] = placeholder(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return "[" + placeholder(t.ElementType()) + "]"
}

// quoted returns a name as YAML has it: y would be true.
func quoted(name string) string {
	data, err := yaml.Marshal(name)
	if err != nil {
		return name
	}
	return strings.TrimSpace(string(data))
}

// note adds a description to a line.
func note(line, description string, deprecated bool) string {
	text := oneLine(description)
	if deprecated {
		text = strings.TrimSpace("Deprecated. " + text)
	}
	switch {
	case text == "":
		return line
	case strings.HasPrefix(line, "# "), strings.Contains(line, " # "): // a comment already
		return line + " " + text
	}
	return line + " # " + text
}

// oneLine returns the beginning of a description, up to the end of a sentence or word.
func oneLine(text string) string {
	text = inspect.Plain(strings.Join(strings.Fields(text), " "))
	if len(text) <= longestNote {
		return text
	}
	short := strings.ToValidUTF8(text[:longestNote], "")
	if end := strings.LastIndex(short, ". "); end > 0 {
		return short[:end+1]
	}
	return short[:max(strings.LastIndexByte(short, ' '), 0)] + " …"
}

func indent(lines []string) []string { return prefixed("  ", lines) }

func comment(lines []string) []string { return prefixed("# ", lines) }

func prefixed(prefix string, lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = prefix + line
	}
	return all
}
