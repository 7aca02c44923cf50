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
	// CodeNotFound: what the request names does not exist.
	CodeNotFound = "not_found"
	// CodeExists: the name is taken.
	CodeExists = "exists"
	// CodeConflict: the present state does not allow the request, for example an update of what is being deleted.
	CodeConflict = "conflict"
	// CodeThrottled: too many requests; see RetryAfter.
	CodeThrottled = "throttled"
	// CodeUnauthorized: the API key is missing or unknown.
	CodeUnauthorized = "unauthorized"
	// CodeForbidden: the API key is good but not for this.
	CodeForbidden = "forbidden"
	// CodeInvalid: the request itself is wrong; repeating it will not help.
	CodeInvalid = "invalid"
	// CodeInternal: the cloud failed; repeating may help.
	CodeInternal = "internal"
)

// APIError is a refusal by the cloud.
type APIError struct {
	// Status is the HTTP status, for example 404.
	Status int
	// Code is one of the Code constants; empty when something other than the cloud answered.
	Code string
	// Message is written for people.
	Message string
	// RetryDelay is how long the cloud asks to wait; 0 when it does not say.
	RetryDelay time.Duration
}

// Error returns the message and the code.
func (e *APIError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Code)
}

// RetryAfter returns how long the cloud asks to wait before the next call; 0 when it does not say. It has a meaning for
// the statuses 429 and 503 only. Callers that know nothing of this package find it with errors.As and an interface.
func (e *APIError) RetryAfter() time.Duration { return e.RetryDelay }

// ConnectionError reports that the cloud gave no answer: whether it did the work is unknown.
type ConnectionError struct {
	// Endpoint is the URL that was called.
	Endpoint string
	// Err is the cause.
	Err error
}

// Error names the endpoint and the cause.
func (e *ConnectionError) Error() string {
	return fmt.Sprintf("calling favourite cloud at %s (is the cloud running?): %v", e.Endpoint, e.Err)
}

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// Timeout is true if time ran out. With Temporary it makes the error a net.Error.
func (e *ConnectionError) Timeout() bool {
	cause, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](e.Err)
	return ok && cause.Timeout()
}

// Temporary is true if the cause says that it is.
func (e *ConnectionError) Temporary() bool {
	cause, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](e.Err)
	return ok && cause.Temporary()
}

// newConnectionError wraps what the HTTP client says. An error that says when to try again comes from a transport that held
// the request back: the cloud was not asked.
func newConnectionError(endpoint string, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // Its text repeats method and URL, which differ from call to call.
	}
	var patient interface{ RetryAfter() time.Duration }
	if errors.As(err, &patient) {
		return err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // Its text names our own port, which differs from connection to connection.
	}
	return &ConnectionError{Endpoint: endpoint, Err: err}
}

// ErrorBody is the JSON of every answer that is not 2xx.
type ErrorBody struct {
	// Error is what went wrong.
	Error ErrorDetail `json:"error"`
}

// ErrorDetail is the content of an ErrorBody.
type ErrorDetail struct {
	// Code is one of the Code constants.
	Code string `json:"code"`
	// Message is written for people.
	Message string `json:"message"`
}

func newAPIError(resp *http.Response, body []byte) error {
	e := &APIError{Status: resp.StatusCode}
	var answer ErrorBody
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error.Code == "" {
		e.Message = "unexpected answer from something that is not the favourite cloud"
	} else {
		e.Code, e.Message = answer.Error.Code, answer.Error.Message
	}
	e.RetryDelay = parseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	return e
}

// parseRetryAfter reads both forms of the header, seconds and date; 0 means that it says nothing useful.
func parseRetryAfter(value string, now time.Time) time.Duration {
	if s, err := strconv.Atoi(value); err == nil {
		return max(0, time.Duration(s)*time.Second)
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// IsNotFound reports whether err says that what the request names does not exist.
func IsNotFound(err error) bool { return hasCode(err, CodeNotFound) }

// IsExists reports whether err says that the name is taken.
func IsExists(err error) bool { return hasCode(err, CodeExists) }

// IsConflict reports whether err says that the present state does not allow the request.
func IsConflict(err error) bool { return hasCode(err, CodeConflict) }

// IsThrottled reports whether err says that there were too many requests.
func IsThrottled(err error) bool { return hasCode(err, CodeThrottled) }

// IsUnauthorized reports whether err says that the API key is missing or unknown.
func IsUnauthorized(err error) bool { return hasCode(err, CodeUnauthorized) }

// IsForbidden reports whether err says that the API key is good but not for this.
func IsForbidden(err error) bool { return hasCode(err, CodeForbidden) }

// IsInvalid reports whether err says that the request itself is wrong.
func IsInvalid(err error) bool { return hasCode(err, CodeInvalid) }

// IsConnection reports whether err says that the cloud gave no answer.
func IsConnection(err error) bool {
	_, ok := errors.AsType[*ConnectionError](err)
	return ok
}

// RetryAfter returns how long the cloud asked to wait, if it did.
func RetryAfter(err error) (time.Duration, bool) {
	e, ok := errors.AsType[*APIError](err)
	if !ok || e.RetryDelay == 0 {
		return 0, false
	}
	return e.RetryDelay, true
}

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*APIError](err)
	return ok && e.Code == code
}
