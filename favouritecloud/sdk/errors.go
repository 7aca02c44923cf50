// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Codes of an APIError.
const (
	CodeNotFound     = "not_found"    // the object of the request does not exist
	CodeExists       = "exists"       // the name is taken
	CodeConflict     = "conflict"     // the current state does not allow the request, for example an update during a deletion
	CodeThrottled    = "throttled"    // too many requests; see RetryAfter
	CodeUnauthorized = "unauthorized" // the API key is missing or unknown
	CodeForbidden    = "forbidden"    // the API key is valid but does not allow the request
	CodeInvalid      = "invalid"      // the request is invalid; retrying it does not help
	CodeInternal     = "internal"     // the cloud failed; retrying may help
)

// APIError is an answer of the cloud that is not 2xx.
type APIError struct {
	Status     int           // the HTTP status, for example 404
	Code       string        // one of the Code constants; empty when something other than the cloud answered
	Message    string        // shown to users. Callers that branch use Code.
	RetryDelay time.Duration // the Retry-After of the cloud; 0 if it sent none
}

// Error returns the message and the code.
func (e *APIError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Code)
}

// RetryAfter returns RetryDelay. Callers that do not import this package find it with errors.As and an interface. It is
// meaningful for the statuses 429 and 503 only.
func (e *APIError) RetryAfter() time.Duration { return e.RetryDelay }

// ConnectionError reports that the cloud did not answer: it may or may not have executed the call.
type ConnectionError struct {
	Endpoint string // the URL that was called
	Err      error  // the cause
}

// Error names the endpoint and the cause.
func (e *ConnectionError) Error() string {
	return fmt.Sprintf("calling favourite cloud at %s (is the cloud running?): %v", e.Endpoint, e.Err)
}

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout. With Temporary it implements net.Error.
func (e *ConnectionError) Timeout() bool {
	var cause interface{ Timeout() bool }
	return errors.As(e.Err, &cause) && cause.Timeout()
}

// Temporary reports whether the cause is temporary.
func (e *ConnectionError) Temporary() bool {
	var cause interface{ Temporary() bool }
	return errors.As(e.Err, &cause) && cause.Temporary()
}

// newConnectionError wraps an error of the HTTP client, unless it has a RetryAfter: then a transport delayed the request, and the
// cloud was not called.
func newConnectionError(endpoint string, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // Its text has the method and URL, which differ from call to call.
	}
	var delayed interface{ RetryAfter() time.Duration }
	if errors.As(err, &delayed) {
		return err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // Its text has the local port, which differs from connection to connection.
	}
	return &ConnectionError{Endpoint: endpoint, Err: err}
}

// ErrorBody is the JSON of every answer that is not 2xx.
type ErrorBody struct {
	Error ErrorDetail `json:"error"` // the error
}

// ErrorDetail is the content of an ErrorBody.
type ErrorDetail struct {
	Code    string `json:"code"`    // one of the Code constants
	Message string `json:"message"` // shown to users
}

func newAPIError(resp *http.Response, body []byte) error {
	e := &APIError{Status: resp.StatusCode}
	var answer ErrorBody
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error.Code == "" {
		e.Message = "unexpected answer: the endpoint is not a favourite cloud"
	} else {
		e.Code, e.Message = answer.Error.Code, answer.Error.Message
	}
	e.RetryDelay = parseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	return e
}

// parseRetryAfter parses both forms of the header, seconds and date. It returns 0 if the header is missing or invalid.
func parseRetryAfter(value string, now time.Time) time.Duration {
	if s, err := strconv.Atoi(value); err == nil {
		return max(0, time.Duration(s)*time.Second)
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// IsNotFound reports whether the object of the request does not exist.
func IsNotFound(err error) bool { return hasCode(err, CodeNotFound) }

// IsExists reports whether the name is taken.
func IsExists(err error) bool { return hasCode(err, CodeExists) }

// IsConnection reports whether the cloud did not answer.
func IsConnection(err error) bool {
	_, ok := errors.AsType[*ConnectionError](err)
	return ok
}

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Code == code
}
