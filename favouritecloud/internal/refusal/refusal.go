// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal is how the services of the cloud say no: an error that carries what the API answers. Every other
// error is the cloud's own fault and is answered without details.
package refusal

import (
	"fmt"
	"net/http"

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
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Malformed refuses what cannot be understood.
func Malformed(format string, args ...any) error {
	return &Error{http.StatusBadRequest, sdk.CodeInvalid, fmt.Sprintf(format, args...)}
}

// Invalid refuses what is understood and wrong.
func Invalid(format string, args ...any) error {
	return &Error{http.StatusUnprocessableEntity, sdk.CodeInvalid, fmt.Sprintf(format, args...)}
}

// TooLarge refuses a request that is too long.
func TooLarge(format string, args ...any) error {
	return &Error{http.StatusRequestEntityTooLarge, sdk.CodeInvalid, fmt.Sprintf(format, args...)}
}

// NotFound refuses a request about something that does not exist.
func NotFound(format string, args ...any) error {
	return &Error{http.StatusNotFound, sdk.CodeNotFound, fmt.Sprintf(format, args...)}
}

// Exists refuses a name that is taken.
func Exists(format string, args ...any) error {
	return &Error{http.StatusConflict, sdk.CodeExists, fmt.Sprintf(format, args...)}
}

// Conflict refuses what the present state does not allow.
func Conflict(format string, args ...any) error {
	return &Error{http.StatusConflict, sdk.CodeConflict, fmt.Sprintf(format, args...)}
}

// Unauthorized refuses a caller without a good API key.
func Unauthorized(format string, args ...any) error {
	return &Error{http.StatusUnauthorized, sdk.CodeUnauthorized, fmt.Sprintf(format, args...)}
}

// Forbidden refuses a known caller.
func Forbidden(format string, args ...any) error {
	return &Error{http.StatusForbidden, sdk.CodeForbidden, fmt.Sprintf(format, args...)}
}
