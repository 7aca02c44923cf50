// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal is how the services of the cloud say no: an error that carries what the API answers. Every other
// error is the cloud's own fault and is answered without details.
package refusal

import (
	"fmt"
	"net/http"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Error is a refusal with its HTTP status, code and message for people.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is one of the codes of package sdk.
	Code string
	// Message is written for people and holds no secret.
	Message string
	// RetryAfter is how long the caller should wait; 0 for no advice.
	RetryAfter time.Duration
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Malformed refuses what cannot be understood.
func Malformed(format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Code: sdk.CodeInvalid, Message: fmt.Sprintf(format, args...)}
}

// Invalid refuses what is understood and wrong.
func Invalid(format string, args ...any) error {
	return &Error{Status: http.StatusUnprocessableEntity, Code: sdk.CodeInvalid, Message: fmt.Sprintf(format, args...)}
}

// TooLarge refuses a request that is too long.
func TooLarge(format string, args ...any) error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Code: sdk.CodeInvalid, Message: fmt.Sprintf(format, args...)}
}

// NotFound refuses a request about something that does not exist.
func NotFound(format string, args ...any) error {
	return &Error{Status: http.StatusNotFound, Code: sdk.CodeNotFound, Message: fmt.Sprintf(format, args...)}
}

// Exists refuses a name that is taken.
func Exists(format string, args ...any) error {
	return &Error{Status: http.StatusConflict, Code: sdk.CodeExists, Message: fmt.Sprintf(format, args...)}
}

// Conflict refuses what the present state does not allow.
func Conflict(format string, args ...any) error {
	return &Error{Status: http.StatusConflict, Code: sdk.CodeConflict, Message: fmt.Sprintf(format, args...)}
}

// Unauthorized refuses a caller without a good API key.
func Unauthorized(format string, args ...any) error {
	return &Error{Status: http.StatusUnauthorized, Code: sdk.CodeUnauthorized, Message: fmt.Sprintf(format, args...)}
}

// Forbidden refuses a known caller.
func Forbidden(format string, args ...any) error {
	return &Error{Status: http.StatusForbidden, Code: sdk.CodeForbidden, Message: fmt.Sprintf(format, args...)}
}

// Throttled refuses one call too many.
func Throttled(wait time.Duration, format string, args ...any) error {
	return &Error{
		Status: http.StatusTooManyRequests, Code: sdk.CodeThrottled, Message: fmt.Sprintf(format, args...), RetryAfter: wait,
	}
}

// Unavailable refuses for a reason that may pass.
func Unavailable(status int, format string, args ...any) error {
	return &Error{Status: status, Code: sdk.CodeInternal, Message: fmt.Sprintf(format, args...)}
}
