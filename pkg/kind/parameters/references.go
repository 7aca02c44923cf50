// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"slices"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// SecretReferences returns the references to keys of Secrets by path: fields named <field>SecretRef, at any depth, with a name,
// a key and at most a namespace (P60).
func SecretReferences(tree map[string]any) map[string]xpv1.SecretKeySelector {
	found := map[string]xpv1.SecretKeySelector{}
	findSecretReferences(path{}, tree, found)
	return found
}

func findSecretReferences(at path, value any, found map[string]xpv1.SecretKeySelector) {
	for name, field := range object(value) {
		if ref, ok := secretKeySelector(field); ok && strings.HasSuffix(name, "SecretRef") {
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

// isReferenceField is true for fields that are resolved to the value of another field: <field>Ref, <field>Refs and
// <field>Selector (R159, R170), and <field>SecretRef (P60). Their shape counts too, since vendors have fields of such names.
func isReferenceField(name string, value any) bool {
	switch {
	case strings.HasSuffix(name, "SecretRef"):
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

// hasOnly is true for objects with at least one field and none but these.
func hasOnly(object map[string]any, fields ...string) bool {
	for name := range object {
		if !slices.Contains(fields, name) {
			return false
		}
	}
	return len(object) > 0
}
