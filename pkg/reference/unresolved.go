// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"fmt"
)

// An UnresolvedError says what a reference waits for (R167). It is no fault of the program: the object can go on as soon
// as somebody changes the target, or the reference. Its text is for the user and holds no times or counts, so that it
// stays the same while the state does.
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

	// leaving is true for a target that is being deleted: whoever has a value of it already may go on with it.
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

// IsUnresolved is true if the error says that a reference waits for its target, or for a user: to try again makes sense
// only after an event about either.
func IsUnresolved(err error) bool {
	var unresolved *UnresolvedError
	return errors.As(err, &unresolved)
}

// isLeaving is true if the error says that the target is being deleted.
func isLeaving(err error) bool {
	var unresolved *UnresolvedError
	return errors.As(err, &unresolved) && unresolved.leaving
}
