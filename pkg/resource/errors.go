// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// An ErrorIs function is true for errors of a certain kind (A44).
type ErrorIs func(err error) bool

// Ignore returns nil if the error is of the given kind, else the error itself (R321).
func Ignore(is ErrorIs, err error) error {
	if err == nil || is(err) {
		return nil
	}
	return err
}

// IgnoreAny returns nil if the error is of one of the given kinds, else the error itself.
func IgnoreAny(err error, is ...ErrorIs) error {
	for _, of := range is {
		if Ignore(of, err) == nil {
			return nil
		}
	}
	return err
}

// IgnoreNotFound returns nil if the error is the API server's saying that there is no such object, else the error itself.
func IgnoreNotFound(err error) error { return Ignore(apierrors.IsNotFound, err) }

// IsAPIError is true for an error, or one that wraps it, that the API server answered with.
func IsAPIError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}
