// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"fmt"
	"time"
)

// What a call made by Do returns, alone or wrapped, to say what an HTTP status says otherwise.
var (
	// ErrSlowDown says that the external system wants fewer calls, as status 429 does. An error that has the method
	// RetryAfter() time.Duration says the same and when calls are welcome again.
	ErrSlowDown = errors.New("the external system asks for fewer calls")
	// ErrRefused says that the external system does not accept the credentials, as status 401 does.
	ErrRefused = errors.New("the external system does not accept the credentials")
)

// Throttled says that a call was not made because it is not the time for it.
type Throttled struct {
	// Key is the ProviderConfig whose calls wait.
	Key Key
	// Why the call was not made. It names no time, so that it may appear in a condition.
	Why string
	// After is how long to wait before the call is tried again.
	After time.Duration
}

// Error says whose calls wait, and why.
func (e *Throttled) Error() string { return fmt.Sprintf("calls of %s wait: %s", e.Key, e.Why) }

// RetryAfter is how long to wait before the call is tried again.
func (e *Throttled) RetryAfter() time.Duration { return e.After }

// Unauthenticated says that a call was not made because the external system refused the credentials a short while ago.
type Unauthenticated struct {
	// Key is the ProviderConfig whose credentials were refused.
	Key Key
	// After is how long to wait before the call is tried again.
	After time.Duration
}

// Error says whose credentials were refused and what to do.
func (e *Unauthenticated) Error() string {
	return fmt.Sprintf("the external system refuses the credentials of %s: correct what its spec.credentials names", e.Key)
}

// RetryAfter is how long to wait before the call is tried again.
func (e *Unauthenticated) RetryAfter() time.Duration { return e.After }
