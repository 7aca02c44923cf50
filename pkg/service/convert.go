// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import "github.com/bowline-dev/bowline/pkg/service/internal/mapping"

// Convert returns a struct with the fields of another one that have the same names, whatever the spelling: what a vendor is
// to be sent from the parameters of a request. What is absent stays absent, what is empty is sent empty. It fails where
// fields of the same name have types that do not convert, which no value changes, and where a value does not fit, such as a
// number that is out of range. A function of Kind that returns the error as it is called nobody: it counts as
// System.Invalid.
func Convert[To any](from any) (To, error) {
	var to To
	if err := mapping.Into(&to, from); err != nil {
		return to, unfitError{err}
	}
	return to, nil
}

// unfitError marks an error of what is to be sent.
type unfitError struct{ error }

func (e unfitError) Unwrap() error { return e.error }
