// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal has the errors of services that the API shows to clients. Every other error is internal and is answered without
// details.
package refusal

import (
	"fmt"
	"net/http"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Error is a refused request.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is one of the codes of package sdk.
	Code string
	// Message is shown to users and contains no secret.
	Message string
	// RetryAfter is how long the client should wait before it retries; 0 if unspecified.
	RetryAfter time.Duration
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func refuse(status int, code, format string, args []any) error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Malformed refuses a request that cannot be parsed.
func Malformed(format string, args ...any) error {
	return refuse(http.StatusBadRequest, sdk.CodeInvalid, format, args)
}

// Invalid refuses a request with an invalid field.
func Invalid(format string, args ...any) error {
	return refuse(http.StatusUnprocessableEntity, sdk.CodeInvalid, format, args)
}

// TooLarge refuses a request that is too long.
func TooLarge(format string, args ...any) error {
	return refuse(http.StatusRequestEntityTooLarge, sdk.CodeInvalid, format, args)
}

// NotFound refuses a request for an object that does not exist.
func NotFound(format string, args ...any) error {
	return refuse(http.StatusNotFound, sdk.CodeNotFound, format, args)
}

// Exists refuses a name that is taken.
func Exists(format string, args ...any) error {
	return refuse(http.StatusConflict, sdk.CodeExists, format, args)
}

// Conflict refuses a request that the current state does not allow.
func Conflict(format string, args ...any) error {
	return refuse(http.StatusConflict, sdk.CodeConflict, format, args)
}

// Unauthorized refuses a client without a valid API key.
func Unauthorized(format string, args ...any) error {
	return refuse(http.StatusUnauthorized, sdk.CodeUnauthorized, format, args)
}

// Forbidden refuses an authenticated client.
func Forbidden(format string, args ...any) error {
	return refuse(http.StatusForbidden, sdk.CodeForbidden, format, args)
}

// Throttled refuses a request that exceeds a rate limit.
func Throttled(wait time.Duration, format string, args ...any) error {
	return &Error{
		Status: http.StatusTooManyRequests, Code: sdk.CodeThrottled, Message: fmt.Sprintf(format, args...), RetryAfter: wait,
	}
}

// Unavailable refuses a request for a temporary reason.
func Unavailable(status int, format string, args ...any) error {
	return refuse(status, sdk.CodeInternal, format, args)
}
