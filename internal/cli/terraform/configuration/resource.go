// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package configuration

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
	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	api "github.com/bowline-dev/bowline/pkg/resource"
	managed "github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// A resource is the block that an object becomes.
type resource struct {
	*unstructured.Unstructured
	source *source.Provider
	of     string // resource type
	name   string // of the block
	block  *schema.Block

	references map[string]hclwrite.Tokens // by the field that they set
	variables  *hclwrite.Body             // those of secrets follow the resource
	problems   []string
}

func (r *resource) String() string {
	return strings.ToLower(r.GetKind()) + "/" + inspect.Path(r.GetNamespace(), r.GetName())
}

func (r *resource) problem(format string, args ...any) {
	r.problems = append(r.problems, r.String()+": "+fmt.Sprintf(format, args...))
}

// tree returns a part of the spec.
func (r *resource) tree(name string) map[string]any {
	tree, _, _ := unstructured.NestedMap(r.Object, "spec", name)
	return tree
}

// notImportable returns why no import block can be written for the object, empty if one can.
func (r *resource) notImportable() string {
	mg, name := managed.Wrap(r.Unstructured), meta.GetExternalName(r)
	switch {
	case meta.WasDeleted(r) && api.MayDeleteExternal(mg) && !meta.OrphansOnDelete(r):
		return "it is being deleted with its external resource: to keep that, set the annotation " + meta.AnnotationKeyOrphanOnDelete + " to \"true\""
	case meta.ExternalCreateIncomplete(r):
		return "its creation has not ended, or was interrupted: export it when it is ready; bowline why says what it waits for"
	case name == "":
		return "it has no external name yet: wait until it has, and export it then"
	case name == string(r.GetUID()):
		return "its external name is its UID, since the resource type has no id: write its blocks by hand, with the import id that the provider documents"
	}
	return ""
}

// write writes the block of the resource, the one that imports it, and variables for its secrets.
func (r *resource) write(file *hclwrite.Body, alias string, find func(ref map[string]any) *resource) {
	r.variables = hclwrite.NewEmptyFile().Body()
	r.findReferences(find)
	declared, initial := r.tree("forProvider"), r.tree("initProvider")
	both := parameters.Overlay(declared, initial)
	if _, err := kinds.Config(r.block, "spec.forProvider", both, func(string) ([]byte, bool) { return []byte("null"), true }); err != nil {
		r.problem("what does not fit the schema of the binary is left out: %v", err)
	}
	body := file.AppendNewBlock("resource", []string{r.of, r.name}).Body()
	if alias != "" {
		body.SetAttributeTraversal("provider", traversal(r.source.Name, alias))
	}
	r.body(body, r.block, both, "")
	if ignored := r.ignored(declared, initial); len(ignored) > 0 {
		body.AppendNewBlock("lifecycle", nil).Body().SetAttributeRaw("ignore_changes", hclwrite.TokensForTuple(ignored))
	}
	file.AppendNewline()
	block := file.AppendNewBlock("import", nil).Body()
	block.SetAttributeTraversal("to", traversal(r.of, r.name))
	block.SetAttributeValue("id", cty.StringVal(meta.GetExternalName(r)))
	file.AppendUnstructuredTokens(r.variables.BuildTokens(nil))
}

// ignored are the arguments, and keys of maps, that only spec.initProvider has.
func (r *resource) ignored(declared, initial map[string]any) (all []hclwrite.Tokens) {
	for _, f := range source.Fields(r.block) {
		if initial[f.Name] == nil {
			continue
		}
		if declared[f.Name] == nil {
			all = append(all, hclwrite.TokensForIdentifier(f.Argument))
		}
		have, _ := declared[f.Name].(map[string]any)
		keys, _ := initial[f.Name].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if have != nil && have[key] == nil && f.Inner == nil {
				at := append(traversal(f.Argument), hcl.TraverseIndex{Key: cty.StringVal(key)})
				all = append(all, hclwrite.TokensForTraversal(at))
			}
		}
	}
	return all
}

// body writes the fields of a nested block, or of the resource.
func (r *resource) body(body *hclwrite.Body, b *schema.Block, from map[string]any, at string) {
	for _, f := range source.Fields(b) {
		at, value := kinds.Child(at, f.Name), from[f.Name]
		if f.Attribute == nil {
			eachObject(f, value, at, func(one map[string]any, at string, key ...string) {
				r.body(body.AppendNewBlock(f.Argument, key).Body(), f.Inner, one, at)
			})
		} else if tokens := r.value(f, value, at); tokens != nil {
			body.SetAttributeRaw(f.Argument, tokens)
		}
	}
}

// eachObject visits one object, or those of a list or map.
func eachObject(f source.Field, value any, at string, visit func(one map[string]any, at string, key ...string)) {
	switch value := value.(type) {
	case []any:
		for i, one := range value {
			o, _ := one.(map[string]any)
			visit(o, kinds.Item(at, i))
		}
	case map[string]any:
		if f.Once() {
			visit(value, at)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			o, _ := value[key].(map[string]any)
			visit(o, kinds.Child(at, key), key)
		}
	}
}

// value returns an attribute, nil if it is not set.
func (r *resource) value(f source.Field, value any, at string) hclwrite.Tokens {
	switch {
	case r.references[at] != nil:
		return r.references[at]
	case f.Secret && value != nil:
		return r.variable(f, value, at)
	case f.Inner == nil:
		return r.leaf(f.Attribute, value, at)
	case value == nil:
		return nil
	}
	var all []hclwrite.Tokens
	var items []hclwrite.ObjectAttrTokens
	eachObject(f, value, at, func(one map[string]any, at string, key ...string) {
		all = append(all, r.object(f.Inner, one, at))
		for _, k := range key {
			items = append(items, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForValue(cty.StringVal(k)), Value: all[len(all)-1]})
		}
	})
	switch {
	case f.Nesting == schema.Map:
		return hclwrite.TokensForObject(items)
	case f.Once() && len(all) == 1:
		return all[0]
	}
	return hclwrite.TokensForTuple(all)
}

func (r *resource) object(b *schema.Block, from map[string]any, at string) hclwrite.Tokens {
	var items []hclwrite.ObjectAttrTokens
	for _, f := range source.Fields(b) {
		if tokens := r.value(f, from[f.Name], kinds.Child(at, f.Name)); tokens != nil {
			items = append(items, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForIdentifier(f.Argument), Value: tokens})
		}
	}
	return hclwrite.TokensForObject(items)
}

// leaf returns a value without fields of its own, nil if it is not set or does not fit. References may set elements of a list of texts.
func (r *resource) leaf(a *schema.Attribute, value any, at string) hclwrite.Tokens {
	elements, _ := value.([]any)
	referred := false
	var items []hclwrite.Tokens
	for i := 0; i < len(elements) || r.references[kinds.Item(at, i)] != nil; i++ {
		tokens := r.references[kinds.Item(at, i)]
		if referred = referred || tokens != nil; tokens == nil {
			tokens = hclwrite.TokensForValue(cty.StringVal(fmt.Sprint(elements[i])))
		}
		items = append(items, tokens)
	}
	if referred {
		return hclwrite.TokensForTuple(items)
	}
	b, name := source.Only(a)
	config, err := kinds.Config(b, at, map[string]any{name: value}, nil)
	if err != nil || config.GetAttr(a.Name).IsNull() {
		return nil
	}
	return hclwrite.TokensForValue(config.GetAttr(a.Name))
}

// variable returns a variable instead of the value of a Secret.
func (r *resource) variable(f source.Field, value any, at string) hclwrite.Tokens {
	ref, _ := value.(map[string]any)
	text := func(key string) string { s, _ := ref[key].(string); return s }
	namespace := text("namespace")
	if namespace == "" {
		namespace = r.GetNamespace()
	}
	name := identifier(r.of + "_" + r.name + "_" + strings.TrimSuffix(at, parameters.SecretSuffix))
	r.variables.AppendNewline()
	body := r.variables.AppendNewBlock("variable", []string{name}).Body()
	body.SetAttributeValue("description", cty.StringVal(fmt.Sprintf("Key %s of Secret %s", text("key"), inspect.Path(namespace, text("name")))))
	valueType := "any"
	if f.Attribute.Type == cty.String {
		valueType = "string"
	}
	body.SetAttributeTraversal("type", traversal(valueType))
	body.SetAttributeValue("sensitive", cty.True)
	return hclwrite.TokensForTraversal(traversal("var", name))
}

// findReferences reads spec.references: to other resources that are exported, too.
func (r *resource) findReferences(find func(ref map[string]any) *resource) {
	r.references = map[string]hclwrite.Tokens{}
	all, _, _ := unstructured.NestedSlice(r.Object, "spec", "references")
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
		if slices.Contains([]string{"status.atProvider.", "spec.forProvider."}, strings.TrimSuffix(path, source.FieldName(r.block, a.Name))) {
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
