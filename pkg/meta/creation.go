// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GetExternalCreatePending returns when the last creation began, or the zero time.
func GetExternalCreatePending(o metav1.Object) time.Time {
	return annotatedTime(o, AnnotationKeyExternalCreatePending)
}

// GetExternalCreateSucceeded returns when a creation last succeeded, or the zero time.
func GetExternalCreateSucceeded(o metav1.Object) time.Time {
	return annotatedTime(o, AnnotationKeyExternalCreateSucceeded)
}

// GetExternalCreateFailed returns when a creation last failed, or the zero time.
func GetExternalCreateFailed(o metav1.Object) time.Time {
	return annotatedTime(o, AnnotationKeyExternalCreateFailed)
}

// SetExternalCreatePending records that a creation begins. Times have a precision of one second, so the time is later than any
// result before: neither a fast retry nor a clock that was set back can hide a creation without a recorded result (N25).
func SetExternalCreatePending(o metav1.Object, now time.Time) {
	setAnnotatedTime(o, AnnotationKeyExternalCreatePending, later(now, lastResult(o).Add(time.Second)))
}

// SetExternalCreateSucceeded records that the pending creation succeeded, no earlier than it began (N25).
func SetExternalCreateSucceeded(o metav1.Object, now time.Time) {
	setAnnotatedTime(o, AnnotationKeyExternalCreateSucceeded, later(now, GetExternalCreatePending(o)))
}

// SetExternalCreateFailed records that the pending creation failed, no earlier than it began (N25).
func SetExternalCreateFailed(o metav1.Object, now time.Time) {
	setAnnotatedTime(o, AnnotationKeyExternalCreateFailed, later(now, GetExternalCreatePending(o)))
}

// ExternalCreateIncomplete is true if a creation began and its result was not recorded: the external resource may exist under an
// unknown name (R82, R83).
func ExternalCreateIncomplete(o metav1.Object) bool {
	pending := GetExternalCreatePending(o)
	return !pending.IsZero() && pending.After(lastResult(o))
}

// ExternalCreateUnacknowledged is true if a creation began and none succeeded since, whether it failed or its result
// is unknown.
func ExternalCreateUnacknowledged(o metav1.Object) bool {
	return GetExternalCreatePending(o).After(GetExternalCreateSucceeded(o))
}

// CreationToken returns an idempotency token for creating the external resource. It is derived from the object's UID and changes
// only when a creation is recorded as succeeded, so that a resource that was deleted outside can be created again (N22).
func CreationToken(o metav1.Object) string {
	succeeded := GetExternalCreateSucceeded(o)
	if succeeded.IsZero() {
		return string(o.GetUID())
	}
	return fmt.Sprintf("%s-%d", o.GetUID(), succeeded.Unix())
}

func lastResult(o metav1.Object) time.Time {
	return later(GetExternalCreateSucceeded(o), GetExternalCreateFailed(o))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// annotatedTime treats an annotation that is not an RFC 3339 time as absent: a person who empties it means to remove it.
func annotatedTime(o metav1.Object, key string) time.Time {
	t, err := time.Parse(time.RFC3339, o.GetAnnotations()[key])
	if err != nil {
		return time.Time{}
	}
	return t
}

func setAnnotatedTime(o metav1.Object, key string, t time.Time) {
	setAnnotation(o, key, t.UTC().Format(time.RFC3339))
}
