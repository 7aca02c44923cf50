// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationKeyCreatedKeys on a managed resource lists the keys of its connection Secret that the external system returned at
// creation only, separated by commas. One that the Secret lacks is reported as lost; without the annotation none is.
const AnnotationKeyCreatedKeys = "bowline.dev/created-connection-keys"

// CreatedKeys returns the keys that AnnotationKeyCreatedKeys lists.
func CreatedKeys(o metav1.Object) []string {
	return strings.FieldsFunc(o.GetAnnotations()[AnnotationKeyCreatedKeys], func(r rune) bool { return r == ',' || r == ' ' })
}

// SetCreatedKeys writes AnnotationKeyCreatedKeys, or removes it if there are no keys.
func SetCreatedKeys(o metav1.Object, keys []string) {
	list := strings.Join(slices.Compact(slices.Sorted(slices.Values(keys))), ",")
	annotations := merged(o.GetAnnotations(), map[string]string{AnnotationKeyCreatedKeys: list})
	if len(keys) == 0 {
		delete(annotations, AnnotationKeyCreatedKeys)
	}
	o.SetAnnotations(annotations)
}

// Missing returns the keys that a Secret lacks; no Secret lacks all.
func Missing(from *corev1.Secret, keys []string) (missing []string) {
	for _, key := range keys {
		if from == nil || !has(from.Data, key) {
			missing = append(missing, key)
		}
	}
	return missing
}
