// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/pkg/failure"
)

// Errors by which a call made by Do reports what an HTTP status reports otherwise. They may be wrapped.
var (
	// ErrSlowDown: the external system asks for fewer calls, as by status 429. An error with the method
	// RetryAfter() time.Duration reports the same, and for how long.
	ErrSlowDown = failure.Throttled(errors.New("the external system asks for fewer calls"), 0)
	// ErrRefused: the external system does not accept the credentials, as by status 401.
	ErrRefused = failure.With(failure.ExternalSystemRefused, errors.New("the external system does not accept the credentials"))
)

// A NotSentError reports that a call was not sent: it exceeds the limits, or the circuit is open.
type NotSentError struct {
	// Key is the ProviderConfig.
	Key Key
	// Reason is ExternalSystemThrottled, ExternalSystemRefused or ExternalSystemUnreachable.
	Reason failure.Reason
	// Why in words that do not change from call to call, so that they may appear in a condition.
	Why string
	// After is how long to wait before the call is tried again.
	After time.Duration
}

// Error names the ProviderConfig and the cause.
func (e *NotSentError) Error() string {
	if e.Reason == failure.ExternalSystemRefused {
		return fmt.Sprintf("the external system refuses the credentials of %s: correct what its spec.credentials names", e.Key)
	}
	return fmt.Sprintf("calls of %s wait: %s", e.Key, e.Why)
}

// RetryAfter is how long to wait before the call is tried again.
func (e *NotSentError) RetryAfter() time.Duration { return e.After }

// classified adds what an application team may read.
func (e *NotSentError) classified() error {
	switch e.Reason {
	case failure.ExternalSystemUnreachable:
		return failure.Unreachable(e)
	case failure.ExternalSystemThrottled:
		return failure.Throttled(e, 0)
	default:
		return failure.With(e.Reason, e)
	}
}
