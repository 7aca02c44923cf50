// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CheckRecreate returns nil if a person permits to create an external resource again that is gone, else why the annotation does not
// permit it. A time permits no more than the creation after it, and nothing before the object existed.
func CheckRecreate(o metav1.Object, now time.Time) error {
	value, last := o.GetAnnotations()[AnnotationKeyRecreate], later(GetExternalCreateSucceeded(o), o.GetCreationTimestamp().Time)
	at := annotatedTime(o, AnnotationKeyRecreate)
	switch {
	case value == "":
		return errors.New("it is not set")
	case value == string(o.GetUID()):
		return nil
	case at.IsZero():
		return errors.New("it is neither the UID of this object nor a time such as 2026-01-02T15:04:05Z")
	case at.After(now):
		return errors.New("it is a time in the future")
	case !at.Truncate(time.Second).After(last):
		return fmt.Errorf("it is a time no later than the last creation, at %s", last.UTC().Format(time.RFC3339))
	}
	return nil
}

// EndRecreate removes the permission to create an external resource again.
func EndRecreate(o metav1.Object) { removeAnnotation(o, AnnotationKeyRecreate) }

// EndTakeOver removes the permission to take over an external resource.
func EndTakeOver(o metav1.Object) { removeAnnotation(o, AnnotationKeyTakeOverFrom) }

// AllowsReplace is true if a person permits to replace the external resource because of all these fields.
func AllowsReplace(o metav1.Object, fields []string) bool {
	allowed := strings.FieldsFunc(o.GetAnnotations()[AnnotationKeyAllowReplace], func(r rune) bool { return r == ',' || r == ' ' })
	return !slices.ContainsFunc(fields, func(field string) bool { return !slices.Contains(allowed, field) })
}

// endPermission removes permissions that were used. One by time has ended as soon as a later creation succeeds.
func endPermission(o metav1.Object) {
	removeAnnotation(o, AnnotationKeyAllowReplace)
	if value := o.GetAnnotations()[AnnotationKeyRecreate]; value != "" && value == string(o.GetUID()) {
		EndRecreate(o)
	}
}
