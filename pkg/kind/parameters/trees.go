// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// Overlay returns the union of two trees (R141). A field that both set has the value of over, be that false, 0 or an empty
// string (R142). Objects are merged by field and lists of objects by element; further elements are taken from the longer
// list. Any other list is one value, and so are references, selectors and Secret references.
//
// Create sends spec.forProvider over spec.initProvider (R138, D46). The union is never stored in the spec, where the values of
// initProvider would be enforced. A field of a Go type that is neither a pointer nor has omitempty is always set, so it never
// takes its value from initProvider (R147).
func Overlay(over, under map[string]any) map[string]any {
	if over == nil {
		return runtime.DeepCopyJSON(under)
	}
	union := runtime.DeepCopyJSON(over)
	for name, field := range under {
		if !isReferenceField(name, over[name]) {
			union[name] = overlay(over[name], field)
		}
	}
	return union
}

func overlay(over, under any) any {
	switch o := over.(type) {
	case nil:
		return runtime.DeepCopyJSONValue(under)
	case map[string]any:
		return Overlay(o, object(under))
	case []any:
		if u := list(under); areObjects(o) && areObjects(u) {
			union := make([]any, max(len(o), len(u)))
			for i := range union {
				union[i] = overlay(element(o, i), element(u, i))
			}
			return union
		}
	}
	return runtime.DeepCopyJSONValue(over)
}

// Fill returns spec with its empty fields filled from observed, and the sorted paths of the filled fields. A field is empty if
// it is absent, nil, or an empty string, list or object; all others are kept, also false and 0 (R149, R155). Further keys of
// a map are filled too, except ownership labels (R151, P15). Fields that initial sets, the tree of spec.initProvider, and those
// that are WriteOnly, Ignored or Chosen are not filled (R146).
//
// A list that is not empty gets no further elements. Its objects are filled from those at the same index if all fields that
// both set are equal: else they may be different things, and a wrong value would be enforced.
func (r Rules) Fill(spec, observed, initial map[string]any) (filled map[string]any, fields []string) {
	f := filling{Rules: &r}
	filled = f.object(path{}, spec, observed, initial)
	return filled, f.filled
}

type filling struct {
	*Rules
	filled []string
}

func (f *filling) object(at path, spec, observed, except map[string]any) map[string]any {
	result := runtime.DeepCopyJSON(spec)
	for _, name := range names(observed) {
		if isReferenceField(name, spec[name]) || isEmpty(spec[name]) && isOwnership(name) {
			continue
		}
		value := f.value(at.field(name), spec[name], observed[name], except[name])
		if isEmpty(value) {
			continue
		}
		if result == nil {
			result = map[string]any{}
		}
		result[name] = value
	}
	return result
}

func (f *filling) value(at path, spec, observed, except any) any {
	if f.ignores(at) || at.in(f.Chosen) {
		return runtime.DeepCopyJSONValue(spec)
	}
	switch o := observed.(type) {
	case map[string]any:
		if s := object(spec); s != nil || isEmpty(spec) {
			return f.object(at, s, o, object(except))
		}
	case []any:
		o, s := withoutOwnership(o), list(spec)
		switch {
		case isEmpty(spec) && areObjects(o) && (except == nil || areObjects(list(except))):
			return f.elements(at, make([]any, len(o)), o, withoutOwnership(list(except)))
		case areObjects(s) && !at.in(f.Sets):
			return f.elements(at, s, o, withoutOwnership(list(except)))
		}
		observed = o
	}
	if !isEmpty(spec) || isEmpty(observed) || except != nil {
		return runtime.DeepCopyJSONValue(spec)
	}
	f.filled = append(f.filled, at.exact)
	return runtime.DeepCopyJSONValue(observed)
}

// elements returns nil if nothing was filled. Otherwise empty elements become empty objects, since the index matters.
func (f *filling) elements(at path, spec, observed, except []any) any {
	result := list(runtime.DeepCopyJSONValue(spec))
	changed := false
	for i := range result {
		if i < len(observed) && f.agree(at.index(i), spec[i], observed[i]) {
			result[i] = f.value(at.index(i), spec[i], observed[i], element(except, i))
		}
		changed = changed || spec[i] != nil || !isEmpty(result[i])
		if isEmpty(result[i]) {
			result[i] = map[string]any{}
		}
	}
	if !changed {
		return nil
	}
	return result
}

func (f *filling) agree(at path, spec, observed any) bool {
	return f.matches(at, spec, overlay(observed, spec), observed)
}

// Tree returns the tree of a struct, a pointer to one or a map through its JSON form, so that it has no other types of numbers
// than int64 and float64. It returns nil for nil, and fails for a value that has no JSON form or is not an object.
func Tree(typed any) (map[string]any, error) {
	data, err := json.Marshal(typed)
	if err != nil {
		return nil, fmt.Errorf("converting parameters to JSON: %w", err)
	}
	var tree map[string]any
	if err := utiljson.Unmarshal(data, &tree); err != nil { // it keeps integers beyond 2^53
		return nil, fmt.Errorf("reading parameters of type %T as a JSON object: %w", typed, err)
	}
	return tree, nil
}

// Typed is the reverse of Tree.
func Typed[P any](tree map[string]any) (p P, err error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return p, fmt.Errorf("converting parameters to JSON: %w", err)
	}
	if err := utiljson.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("converting parameters to %T: %w", p, err)
	}
	return p, nil
}

type path struct {
	exact   string // scalingConfig[0].maxSize
	general string // scalingConfig.maxSize: of every element
}

// field appends a field. The name may be the key of a map, such as app.kubernetes.io/name, hence the brackets.
func (p path) field(name string) path {
	switch {
	case strings.ContainsAny(name, "./[]"):
		name = "[" + name + "]"
	case p.exact != "":
		name = "." + name
	}
	return path{p.exact + name, p.general + name}
}

func (p path) index(i int) path { return path{p.exact + "[" + strconv.Itoa(i) + "]", p.general} }

func (p path) in(fields []string) bool {
	return slices.ContainsFunc(fields, func(f string) bool {
		return f == p.exact || strings.ReplaceAll(f, "[*]", "") == p.general
	})
}

// isEmpty is true for values that late initialization may fill (R155). false and 0 are not empty.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// areObjects is true for a list of objects. Such lists are merged and compared by element, any other list as one value (R141).
func areObjects(list []any) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(element any) bool { _, ok := element.(map[string]any); return !ok })
}

func object(value any) map[string]any {
	o, _ := value.(map[string]any)
	return o
}

func list(value any) []any {
	l, _ := value.([]any)
	return l
}

func element(of []any, i int) any {
	if i < len(of) {
		return of[i]
	}
	return nil
}

func names(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

// plain normalizes a name: api-key, api_key and apiKey are the same.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// isOwnership is true for the keys of ownership labels, also in the spelling of vendors that allow no dashes (P10, P13, N23).
func isOwnership(key string) bool {
	switch plain(key) {
	case "crossplanekind", "crossplanename", "crossplaneprovider", "bowlineuid", "bowlinenamespace":
		return true
	}
	return false
}

// isOwnershipTag is true for an ownership label of a vendor with lists of key-value objects instead of maps.
func isOwnershipTag(element any) bool {
	for _, field := range object(element) {
		if key, ok := field.(string); ok && isOwnership(key) {
			return true
		}
	}
	return false
}

func withoutOwnership(list []any) []any {
	if !slices.ContainsFunc(list, isOwnershipTag) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), isOwnershipTag)
}

// SecretSuffix is the end of the names of fields that select a key of a Secret (P60).
const SecretSuffix = "SecretRef"

// SecretReferences returns the references to keys of Secrets by path: fields named <field>SecretRef, at any depth, with a name,
// a key and at most a namespace (P60).
func SecretReferences(tree map[string]any) map[string]xpv1.SecretKeySelector {
	found := map[string]xpv1.SecretKeySelector{}
	findSecretReferences(path{}, tree, found)
	return found
}

func findSecretReferences(at path, value any, found map[string]xpv1.SecretKeySelector) {
	for name, field := range object(value) {
		if ref, ok := secretKeySelector(field); ok && strings.HasSuffix(name, SecretSuffix) {
			found[at.field(name).exact] = ref
			continue
		}
		findSecretReferences(at.field(name), field, found)
	}
	for i, element := range list(value) {
		findSecretReferences(at.index(i), element, found)
	}
}

func secretKeySelector(value any) (ref xpv1.SecretKeySelector, ok bool) {
	o := object(value)
	ref.Name, _ = o["name"].(string)
	ref.Key, _ = o["key"].(string)
	ref.Namespace, _ = o["namespace"].(string)
	return ref, ref.Name != "" && ref.Key != "" && hasOnly(o, "name", "key", "namespace")
}

// isReferenceField is true for fields that resolve to another and for Secrets, by name and shape: vendors use such names (R159,
// R170, P60).
func isReferenceField(name string, value any) bool {
	switch {
	case strings.HasSuffix(name, SecretSuffix):
		_, ok := value.(map[string]any)
		return ok
	case strings.HasSuffix(name, "Ref"):
		return isReference(value)
	case strings.HasSuffix(name, "Refs"):
		refs := list(value)
		return len(refs) > 0 && !slices.ContainsFunc(refs, func(ref any) bool { return !isReference(ref) })
	case strings.HasSuffix(name, "Selector"):
		return hasOnly(object(value), "matchLabels", "matchControllerRef", "namespace", "policy")
	}
	return false
}

func isReference(value any) bool {
	name, _ := object(value)["name"].(string)
	return name != "" && hasOnly(object(value), "name", "namespace", "kind", "apiVersion", "policy")
}

func hasOnly(object map[string]any, fields ...string) bool {
	for name := range object {
		if !slices.Contains(fields, name) {
			return false
		}
	}
	return len(object) > 0
}
