// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"fmt"
)

// An UnresolvedError reports a reference without a usable target (R167). Reconciliation resumes when the target or the reference
// changes. The text is for users and has no times or counts, so that it does not change while the state is the same.
type UnresolvedError struct {
	// FieldPath of the referring field; empty if the request did not say.
	FieldPath string
	// Kind of the target.
	Kind string
	// Namespace of the target; empty if it has none.
	Namespace string
	// Name of the target; empty if a selector found none.
	Name string
	// Problem is the predicate of the message, whose subject is the target, or "no <Kind>" if a selector found none.
	Problem string

	// leaving is true for a target that is being deleted. Fields that have its value keep it.
	leaving bool
}

// Error returns, for example: spec.forProvider.networkId: Network "net-a" does not exist yet.
func (e *UnresolvedError) Error() string {
	subject := "no " + e.Kind
	if e.Name != "" {
		subject = fmt.Sprintf("%s %q", e.Kind, e.Name)
	}
	if e.Namespace != "" {
		subject += fmt.Sprintf(" in namespace %q", e.Namespace)
	}
	if e.FieldPath != "" {
		subject = e.FieldPath + ": " + subject
	}
	return subject + " " + e.Problem
}

// IsUnresolved is true for a reference without a usable target. Retry only after an event about the target or the object.
func IsUnresolved(err error) bool {
	var unresolved *UnresolvedError
	return errors.As(err, &unresolved)
}

// isLeaving is true if the target is being deleted.
func isLeaving(err error) bool {
	var unresolved *UnresolvedError
	return errors.As(err, &unresolved) && unresolved.leaving
}
