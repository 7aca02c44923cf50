// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// An ErrorIs function is true for a class of errors (A44).
type ErrorIs func(err error) bool

// Ignore returns nil if the error is of the given class, else the error itself (R321).
func Ignore(is ErrorIs, err error) error {
	if err == nil || is(err) {
		return nil
	}
	return err
}

// IgnoreNotFound returns nil if the API server reported that the object does not exist, else the error itself.
func IgnoreNotFound(err error) error { return Ignore(apierrors.IsNotFound, err) }
