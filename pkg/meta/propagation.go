// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations that permit copying the content of a Secret to another. Both Secrets must have them, with UIDs (R289, R290).
const (
	// AnnotationKeyPropagateFromNamespace on the destination is the namespace of its source.
	AnnotationKeyPropagateFromNamespace = "from.propagate.crossplane.io/namespace"
	// AnnotationKeyPropagateFromName on the destination is the name of its source.
	AnnotationKeyPropagateFromName = "from.propagate.crossplane.io/name"
	// AnnotationKeyPropagateFromUID on the destination is the UID of its source.
	AnnotationKeyPropagateFromUID = "from.propagate.crossplane.io/uid"
	// AnnotationPrefixPropagateTo and the UID of a destination are a key on the source; the value is <namespace>/<name>.
	AnnotationPrefixPropagateTo = "to.propagate.crossplane.io/"
)

// A PropagationSource is the source in the annotations of a destination.
type PropagationSource struct {
	types.NamespacedName
	UID types.UID
}

// AllowPropagation permits, on both objects in memory, copying from one to the other (A21). Both must exist and have UIDs.
func AllowPropagation(from, to metav1.Object) {
	AllowPropagationFrom(to, from)
	AllowPropagationTo(from, to)
}

// AllowPropagationFrom records the source on the destination.
func AllowPropagationFrom(to, from metav1.Object) {
	setAnnotation(to, AnnotationKeyPropagateFromNamespace, from.GetNamespace())
	setAnnotation(to, AnnotationKeyPropagateFromName, from.GetName())
	setAnnotation(to, AnnotationKeyPropagateFromUID, string(from.GetUID()))
}

// AllowPropagationTo records the destination on the source.
func AllowPropagationTo(from, to metav1.Object) {
	setAnnotation(from, AnnotationPrefixPropagateTo+string(to.GetUID()), to.GetNamespace()+"/"+to.GetName())
}

// ForbidPropagationTo reverts AllowPropagationTo.
func ForbidPropagationTo(from metav1.Object, to types.UID) {
	annotations := map[string]string{}
	for key, value := range from.GetAnnotations() {
		if key != AnnotationPrefixPropagateTo+string(to) {
			annotations[key] = value
		}
	}
	from.SetAnnotations(annotations)
}

// PropagatesTo returns the permitted destinations by UID (R291).
func PropagatesTo(from metav1.Object) map[types.UID]types.NamespacedName {
	destinations := map[types.UID]types.NamespacedName{}
	for key, value := range from.GetAnnotations() {
		uid, ok := strings.CutPrefix(key, AnnotationPrefixPropagateTo)
		namespace, name, named := strings.Cut(value, "/")
		if ok && named && uid != "" && namespace != "" && name != "" {
			destinations[types.UID(uid)] = types.NamespacedName{Namespace: namespace, Name: name}
		}
	}
	return destinations
}

// PropagatedFrom returns the source of a destination. It is not ok unless namespace, name and UID are recorded.
func PropagatedFrom(to metav1.Object) (source PropagationSource, ok bool) {
	a := to.GetAnnotations()
	source.Namespace, source.Name = a[AnnotationKeyPropagateFromNamespace], a[AnnotationKeyPropagateFromName]
	source.UID = types.UID(a[AnnotationKeyPropagateFromUID])
	return source, source.Namespace != "" && source.Name != "" && source.UID != ""
}

// PropagationAllowed is true if both objects permit the copy (R289).
func PropagationAllowed(from, to metav1.Object) bool {
	source, ok := PropagatedFrom(to)
	if !ok || source.UID != from.GetUID() || source.Namespace != from.GetNamespace() || source.Name != from.GetName() {
		return false
	}
	destination, ok := PropagatesTo(from)[to.GetUID()]
	return ok && destination == types.NamespacedName{Namespace: to.GetNamespace(), Name: to.GetName()}
}
