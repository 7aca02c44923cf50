// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Fingerprint is the same for two states of an object that differ only in what users do not declare: the status,
// and what the API server counts.
func Fingerprint(o *unstructured.Unstructured) string {
	content := map[string]any{}
	for key, value := range o.Object {
		if key != "status" && key != "metadata" {
			content[key] = value
		}
	}
	content["metadata"] = []any{o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences(), o.GetFinalizers(), o.GetUID()}
	raw, err := json.Marshal(content)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return string(sum[:])
}

// Covers is true if an object has all that is declared, in the form in which that is declared.
func Covers(live, declared *unstructured.Unstructured) bool {
	return covers(live.Object, declared.Object)
}

func covers(has, declared any) bool {
	switch declared := declared.(type) {
	case map[string]any:
		has, ok := has.(map[string]any)
		for key, value := range declared {
			if !ok || !covers(has[key], value) {
				return false
			}
		}
		return ok
	case []any:
		has, ok := has.([]any)
		if !ok || len(has) != len(declared) {
			return false
		}
		for i := range declared {
			if !covers(has[i], declared[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(has, declared)
	}
}

// Declarable is an object without its status and what the API server sets of its metadata.
func Declarable(o *unstructured.Unstructured) map[string]any {
	some := maps.Clone(o.Object)
	delete(some, "status")
	metadata, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata")
	if all, ok := metadata.(map[string]any); ok {
		some["metadata"] = map[string]any{"labels": all["labels"], "annotations": all["annotations"]}
	}
	return some
}

// mostStatus is how many bytes of a status are copied.
const mostStatus = 64 << 10

// Status returns the status of an object as JSON: nil if it has none or a large one, or if there is no object.
func Status(o *unstructured.Unstructured) *runtime.RawExtension {
	if o == nil {
		return nil
	}
	status, ok := o.Object["status"].(map[string]any)
	if !ok {
		return nil
	}
	raw, err := json.Marshal(status)
	if err != nil || len(raw) > mostStatus {
		return nil
	}
	return &runtime.RawExtension{Raw: raw}
}
