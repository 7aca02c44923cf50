// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// A resource is the block that an object becomes.
type resource struct {
	object *unstructured.Unstructured
	source *source
	of     string // resource type
	name   string // of the block
	block  *schema.Block

	references map[string]hclwrite.Tokens // by the field that they set
	variables  *hclwrite.Body             // those of secrets follow the resource
	problems   []string
}

func (r *resource) String() string {
	return strings.ToLower(r.object.GetKind()) + "/" + inspect.Path(r.object.GetNamespace(), r.object.GetName())
}

func (r *resource) problem(format string, args ...any) {
	r.problems = append(r.problems, r.String()+": "+fmt.Sprintf(format, args...))
}

// tree returns a part of the object.
func (r *resource) tree(path ...string) map[string]any {
	tree, _, _ := unstructured.NestedMap(r.object.Object, path...)
	return tree
}

// write writes the block of the resource, the one that imports it, and variables for its secrets.
func (r *resource) write(file *hclwrite.Body, find func(ref map[string]any) *resource) {
	r.variables = hclwrite.NewEmptyFile().Body()
	r.findReferences(find)
	declared, initial := r.tree("spec", "forProvider"), r.tree("spec", "initProvider")
	body := file.AppendNewBlock("resource", []string{r.of, r.name}).Body()
	if config := inspect.Text(r.object, "spec", "providerConfigRef", "name"); config != "" && config != "default" {
		body.SetAttributeTraversal("provider", traversal(r.source.name, identifier(config)))
	}
	r.body(body, r.block, parameters.Overlay(declared, initial), "")
	var ignored []hclwrite.Tokens
	for _, f := range fieldsOf(r.block) {
		if initial[f.name] != nil && declared[f.name] == nil {
			ignored = append(ignored, hclwrite.TokensForIdentifier(f.argument))
		}
	}
	if len(ignored) > 0 {
		body.AppendNewBlock("lifecycle", nil).Body().SetAttributeRaw("ignore_changes", hclwrite.TokensForTuple(ignored))
	}
	if id := meta.GetExternalName(r.object); id != "" {
		file.AppendNewline()
		block := file.AppendNewBlock("import", nil).Body()
		block.SetAttributeTraversal("to", traversal(r.of, r.name))
		block.SetAttributeValue("id", cty.StringVal(id))
	} else {
		r.problem("it has no external name yet, so that Terraform would create another one: wait until it has, and export it then")
	}
	file.AppendUnstructuredTokens(r.variables.BuildTokens(nil))
}

// body writes the fields of a nested block, or of the resource.
func (r *resource) body(body *hclwrite.Body, b *schema.Block, from map[string]any, at string) {
	for _, f := range fieldsOf(b) {
		at := child(at, f.name)
		value := from[f.name]
		if f.inner == nil || f.attribute != nil {
			if tokens := r.value(f, value, at); tokens != nil {
				body.SetAttributeRaw(f.argument, tokens)
			}
			continue
		}
		switch value := value.(type) {
		case []any:
			for i, one := range value {
				r.nested(body, f, one, item(at, i))
			}
		case map[string]any:
			if once(f.nesting) {
				r.nested(body, f, value, at)
				continue
			}
			for _, key := range slices.Sorted(maps.Keys(value)) {
				r.nested(body, f, value[key], child(at, key), key)
			}
		}
	}
}

func (r *resource) nested(body *hclwrite.Body, f field, value any, at string, labels ...string) {
	from, _ := value.(map[string]any)
	r.body(body.AppendNewBlock(f.argument, labels).Body(), f.inner, from, at)
}

// value returns an attribute, nil if it is not set.
func (r *resource) value(f field, value any, at string) hclwrite.Tokens {
	if tokens := r.references[at]; tokens != nil {
		return tokens
	}
	switch {
	case value == nil && !r.isReferred(at):
		return nil
	case f.secret:
		return r.variable(f, value, at)
	case f.inner == nil:
		return r.leaf(f.attribute, value, at)
	case once(f.nesting):
		return r.fields(f.inner, value, at)
	}
	switch value := value.(type) {
	case map[string]any:
		var items []hclwrite.ObjectAttrTokens
		for _, key := range slices.Sorted(maps.Keys(value)) {
			items = append(items, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForValue(cty.StringVal(key)), Value: r.fields(f.inner, value[key], child(at, key))})
		}
		return hclwrite.TokensForObject(items)
	case []any:
		items := make([]hclwrite.Tokens, len(value))
		for i, one := range value {
			items[i] = r.fields(f.inner, one, item(at, i))
		}
		return hclwrite.TokensForTuple(items)
	}
	return nil
}

func (r *resource) fields(b *schema.Block, value any, at string) hclwrite.Tokens {
	from, _ := value.(map[string]any)
	var items []hclwrite.ObjectAttrTokens
	for _, f := range fieldsOf(b) {
		if tokens := r.value(f, from[f.name], child(at, f.name)); tokens != nil {
			items = append(items, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(f.argument), Value: tokens})
		}
	}
	return hclwrite.TokensForObject(items)
}

// leaf returns a value without fields of its own. References may set elements of a list.
func (r *resource) leaf(a *schema.Attribute, value any, at string) hclwrite.Tokens {
	elements, isList := value.([]any)
	if r.isReferred(at) && (isList || value == nil) {
		var items []hclwrite.Tokens
		for i := 0; i < len(elements) || r.references[item(at, i)] != nil; i++ {
			if tokens := r.references[item(at, i)]; tokens != nil {
				items = append(items, tokens)
			} else if s, ok := elements[i].(string); ok {
				items = append(items, hclwrite.TokensForValue(cty.StringVal(s)))
			}
		}
		return hclwrite.TokensForTuple(items)
	}
	b, name := only(a)
	config, err := kinds.Config(b, at, map[string]any{name: value}, nil)
	if err != nil {
		r.problem("%v", err)
		return nil
	}
	return hclwrite.TokensForValue(config.GetAttr(a.Name))
}

// isReferred is true for a field with elements that references set.
func (r *resource) isReferred(at string) bool {
	return r.references[item(at, 0)] != nil
}

// variable returns a variable instead of the value of a Secret.
func (r *resource) variable(f field, value any, at string) hclwrite.Tokens {
	ref, _ := value.(map[string]any)
	text := func(key string) string { s, _ := ref[key].(string); return s }
	namespace := text("namespace")
	if namespace == "" {
		namespace = r.object.GetNamespace()
	}
	name := identifier(r.of + "_" + r.name + "_" + strings.TrimSuffix(at, secretSuffix))
	r.variables.AppendNewline()
	body := r.variables.AppendNewBlock("variable", []string{name}).Body()
	body.SetAttributeValue("description", cty.StringVal(fmt.Sprintf("Key %s of Secret %s", text("key"), inspect.Path(namespace, text("name")))))
	valueType := "any"
	if f.attribute.Type == cty.String {
		valueType = "string"
	}
	body.SetAttributeTraversal("type", traversal(valueType))
	body.SetAttributeValue("sensitive", cty.True)
	return hclwrite.TokensForTraversal(traversal("var", name))
}

// findReferences reads spec.references: to other resources that are exported, too.
func (r *resource) findReferences(find func(ref map[string]any) *resource) {
	r.references = map[string]hclwrite.Tokens{}
	all, _, _ := unstructured.NestedSlice(r.object.Object, "spec", "references")
	for _, one := range all {
		ref, _ := one.(map[string]any)
		at, _ := ref["field"].(string)
		path, _ := ref["value"].(string)
		other := find(ref)
		if other == nil {
			r.problem("%s refers to %v/%v, which is not exported: its value is used, if it has one", at, ref["kind"], ref["name"])
			continue
		}
		argument := "id"
		if path != "" {
			argument = other.argument(path)
		}
		if argument == "" {
			r.problem("%s refers to %s of %s: its value is used, if it has one", at, path, other)
			continue
		}
		r.references[at] = hclwrite.TokensForTraversal(traversal(other.of, other.name, argument))
	}
}

// argument returns the attribute of a path such as status.atProvider.arn, empty if there is none.
func (r *resource) argument(path string) string {
	for _, a := range r.block.Attributes {
		if slices.Contains([]string{"status.atProvider.", "spec.forProvider."}, strings.TrimSuffix(path, fieldName(r.block, a.Name))) {
			return a.Name
		}
	}
	return ""
}

func traversal(root string, attributes ...string) hcl.Traversal {
	t := hcl.Traversal{hcl.TraverseRoot{Name: root}}
	for _, name := range attributes {
		t = append(t, hcl.TraverseAttr{Name: name})
	}
	return t
}

var noIdentifier = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// identifier returns a text as Terraform allows it for names.
func identifier(text string) string {
	text = noIdentifier.ReplaceAllString(text, "_")
	if text == "" || text[0] >= '0' && text[0] <= '9' || text[0] == '-' {
		text = "_" + text
	}
	return text
}
