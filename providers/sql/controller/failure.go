// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// classify gives an error of package postgresql a reason and a message for application teams: the server's message where it is
// about the resource itself. Detail and hint may name objects of others and stay with the platform team, as do errors about
// the connection, the credentials and the privileges of the provider.
func classify(err error) error {
	if _, done := errors.AsType[*failure.Error](err); done {
		return err // by the limiter, or by the kind
	}
	answer, answered := errors.AsType[*postgresql.Error](err)
	switch {
	case postgresql.IsPoolFull(err), postgresql.IsBusy(err):
		return failure.Throttled(err, 0)
	case postgresql.IsAuthentication(err):
		return failure.With(failure.ExternalSystemRefused, err)
	case postgresql.IsUnavailable(err):
		return failure.Unreachable(err)
	case !answered:
		return err
	case postgresql.IsExists(err):
		return failure.ForTeam(failure.ExternalNameTaken, answer.Message, err)
	case postgresql.IsInvalid(err), postgresql.IsNotFound(err):
		return failure.ForTeam(failure.InvalidSettings, answer.Message, err)
	case postgresql.IsConflict(err):
		return failure.ForTeam(failure.ExternalCallFailed, answer.Message, err)
	}
	return failure.With(failure.ExternalCallFailed, err)
}
