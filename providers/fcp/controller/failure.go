// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// What application teams read instead of answers that may name a project or resources of others.
const (
	messageTaken    = "another resource has this name: choose another name"
	messageMissing  = "the resource, or one that it refers to, does not exist in the cloud"
	messageConflict = "the cloud does not permit this in its present state, for example because another resource uses this one or overlaps it"
	messageInternal = "the cloud failed to handle the request, and the provider tries again: if it lasts, ask your platform team"
)

// classify gives an error of the SDK a reason and a message for application teams. The cloud's own message is among them only
// where it is about the settings of the resource.
func classify(err error) error {
	if _, done := errors.AsType[*failure.Error](err); done {
		return err // by the limiter
	}
	answer, answered := errors.AsType[*sdk.APIError](err)
	if !answered {
		if sdk.IsConnection(err) {
			return failure.Unreachable(err)
		}
		return err
	}
	switch answer.Code {
	case sdk.CodeUnauthorized, sdk.CodeForbidden:
		return failure.With(failure.ExternalSystemRefused, err)
	case sdk.CodeThrottled:
		return failure.Throttled(err, answer.RetryDelay)
	case sdk.CodeInvalid:
		return failure.ForTeam(failure.InvalidSettings, answer.Message, err)
	case sdk.CodeExists:
		return failure.ForTeam(failure.ExternalNameTaken, messageTaken, err)
	case sdk.CodeNotFound:
		return failure.ForTeam(failure.ExternalCallFailed, messageMissing, err)
	case sdk.CodeConflict:
		return failure.ForTeam(failure.ExternalCallFailed, messageConflict, err)
	case sdk.CodeInternal:
		return failure.ForTeam(failure.ExternalCallFailed, messageInternal, err)
	default: // a proxy answered, or another server at the address
		return failure.Unreachable(err)
	}
}
