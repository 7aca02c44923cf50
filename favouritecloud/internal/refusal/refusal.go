// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal has the errors of services that the API shows to clients, and the rules for names, labels, texts, passwords and
// versions. Every other error is internal and is answered without details.
package refusal

import (
	"fmt"
	"net/http"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Error is a refused request.
type Error struct {
	Status     int           // the HTTP status
	Code       string        // one of the codes of package sdk
	Message    string        // shown to users and contains no secret
	RetryAfter time.Duration // how long the client should wait before it retries; 0 if unspecified
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// New refuses a request with a status and a code of package sdk.
func New(status int, code, format string, args ...any) error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid refuses a request with an invalid field.
func Invalid(format string, args ...any) error {
	return New(http.StatusUnprocessableEntity, sdk.CodeInvalid, format, args...)
}

// NotFound refuses a request for a resource that does not exist.
func NotFound(format string, args ...any) error {
	return New(http.StatusNotFound, sdk.CodeNotFound, format, args...)
}

// Conflict refuses a request that the current state does not allow.
func Conflict(format string, args ...any) error {
	return New(http.StatusConflict, sdk.CodeConflict, format, args...)
}

// Throttled refuses a request that exceeds a rate limit.
func Throttled(wait time.Duration, format string, args ...any) error {
	return &Error{
		Status: http.StatusTooManyRequests, Code: sdk.CodeThrottled, Message: fmt.Sprintf(format, args...), RetryAfter: wait,
	}
}
