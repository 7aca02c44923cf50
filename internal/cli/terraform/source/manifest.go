// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"maps"
	"slices"
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

// Manifest returns a manifest to fill in. Its placeholders are of the form <string>. Without a namespace it is one in the cluster scope.
func (p *Provider) Manifest(resourceType, namespace string) string {
	b := p.Types[resourceType].Block
	apiVersion, kind := p.Kind(resourceType, namespace != "")
	plural := kinds.Names(p.Name, resourceType).Plural
	o := outline{namespaced: namespace != ""}
	lines := []string{note("# "+resourceType+" of Terraform provider "+p.Name+".", b.Description, b.Deprecated),
		"# Replace what is in angle brackets. To set another field, remove the # before it.",
		"# More about a field: bowline kubectl explain --api-version " + apiVersion + " " + plural + ".spec.forProvider.FIELD",
		"apiVersion: " + apiVersion, "kind: " + kind, "metadata:", "  name: <name>"}
	if namespace != "" {
		lines = append(lines, "  namespace: "+namespace)
	}
	lines = append(lines, "  # annotations:", "  #   crossplane.io/external-name: <id> # To manage what exists. Default: it is created.", "spec:")
	lines = append(lines, indent(nested("forProvider:", o.object(b, false, 0)))...)
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
	lines := []string{"references: # They set fields of forProvider to the ids of other objects.", "- field: <field>", "  kind: <kind>",
		"  name: <name>", "providerConfigRef:", "  name: default", "writeConnectionSecretToRef: # The Secret that gets its sensitive attributes.",
		"  name: <secret>"}
	if o.namespaced {
		return slices.Insert(lines, 5, "  kind: ClusterProviderConfig # or ProviderConfig, of the same namespace")
	}
	return append(lines, "  namespace: <namespace>")
}

// object returns the lines of the fields. With all, those of an object without required fields are no comments.
func (o outline) object(b *schema.Block, all bool, depth int) []string {
	var lines []string
	fields := Fields(b)
	all = all && (len(fields) == 0 || !fields[0].Required)
	for _, f := range fields {
		if depth == 0 && f.Argument == "id" && f.Computed { // the external name
			continue
		}
		if f.Required {
			lines = append(lines, o.field(f, false, depth)...)
		} else if all {
			lines = append(lines, o.field(f, true, depth+1)...)
		} else {
			lines = append(lines, comment(o.field(f, true, depth+1))...)
		}
	}
	return lines
}

func (o outline) field(f Field, all bool, depth int) []string {
	name := quoted(f.Name)
	switch {
	case f.Secret:
		return []string{note(name+": "+o.secret(), f.Description, f.Deprecated)}
	case f.Inner == nil:
		return []string{note(name+": "+placeholder(f.Attribute.Type), f.Description, f.Deprecated)}
	case depth > deepest:
		return []string{name + ": {} # See kubectl explain."}
	}
	inner := o.object(f.Inner, all, depth)
	if f.Once() {
		lines := nested(name+":", inner)
		lines[0] = note(lines[0], f.Description, f.Deprecated)
		return lines
	}
	if f.Nesting == schema.Map {
		return append([]string{note(name+":", f.Description, f.Deprecated)}, indent(nested("<key>:", inner))...)
	}
	limits := "A list. "
	if f.Most > 0 {
		limits = fmt.Sprintf("A list of at most %d. ", f.Most)
	}
	lines := []string{note(name+":", limits+f.Description, f.Deprecated)}
	one := nested("-", inner)
	if one[0] == "-" {
		one = one[1:]
		one[0] = "- " + strings.TrimPrefix(one[0], "  ")
	}
	for range max(1, f.Least) {
		lines = append(lines, one...)
	}
	return lines
}

// nested returns an object as the value of a name. One without fields has to be written as {}.
func nested(name string, fields []string) []string {
	if !slices.ContainsFunc(fields, func(line string) bool { return !strings.HasPrefix(line, "#") }) {
		name += " {}"
		if len(fields) > 0 {
			name += " # Remove {} to set a field."
		}
	}
	return append([]string{name}, indent(fields)...)
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
			fields[i] = quoted(FieldName(b, a.Name)) + ": " + placeholder(a.Type)
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

// typed returns the attributes of an object type.
func typed(t cty.Type) *schema.Block {
	b := &schema.Block{}
	for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
		b.Attributes = append(b.Attributes, &schema.Attribute{Name: name, Type: t.AttributeType(name), Optional: true})
	}
	return b
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
	text := OneLine(description)
	if deprecated {
		text = strings.TrimSpace("Deprecated. " + text)
	}
	switch {
	case text == "":
		return line
	case strings.Contains(" "+line, " # "): // a comment already
		return line + " " + text
	}
	return line + " # " + text
}

// OneLine returns the beginning of a description, up to the end of a sentence or word.
func OneLine(text string) string {
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
