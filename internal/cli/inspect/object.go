// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// Text returns a string field, empty if there is none.
func Text(o *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

// Conditions returns the conditions of an object that can be decoded.
func Conditions(o *unstructured.Unstructured) xpv1.ConditionedStatus {
	var status xpv1.ConditionedStatus
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		fields, ok := item.(map[string]any)
		var c xpv1.Condition
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			status.Conditions = append(status.Conditions, c)
		}
	}
	return status
}

// Reference returns the object reference in a field. It is not ok without a name.
func Reference(o *unstructured.Unstructured, path ...string) (ref corev1.ObjectReference, ok bool) {
	fields, _, _ := unstructured.NestedMap(o.Object, path...)
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &ref) != nil {
		return corev1.ObjectReference{}, false
	}
	return ref, ref.Name != ""
}

// ConnectionSecret returns the connection Secret of a claim or managed resource; that of a namespaced object is in its namespace. It
// is not ok if the object names none.
func ConnectionSecret(o *unstructured.Unstructured) (key types.NamespacedName, ok bool) {
	ref, ok := Reference(o, "spec", "writeConnectionSecretToRef")
	key = types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	if o.GetNamespace() != "" {
		key.Namespace = o.GetNamespace()
	}
	return key, ok
}

// When returns the last time of an event.
func When(e corev1.Event) time.Time {
	last := e.EventTime.Time
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time} {
		if t.After(last) {
			last = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}

// Plain returns a text as one line without control characters, which could manipulate a terminal.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// Path is namespace/name, or the name alone.
func Path(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
