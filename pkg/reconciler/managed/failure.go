// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"fmt"
	"net"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// terminalError marks an error that the same input would meet again.
type terminalError struct{ error }

func (e terminalError) Unwrap() error { return e.error }

// Terminal marks an error that repeating the call cannot heal, for example that the external system finds a setting
// invalid. It is tried again when the object changes, and at the poll, but not in between. The errors of
// reconcile.TerminalError count as such, too.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return terminalError{err}
}

func isTerminal(err error) bool {
	_, marked := errors.AsType[terminalError](err)
	return marked || errors.Is(err, reconcile.TerminalError(nil))
}

// callFailed says what call of the external system failed. One that got no answer about the resource says so before its
// cause, which may name the system's address, the ProviderConfig or its credentials: nothing after that is for people who may
// not see those, such as the authors of claims. Package claimbinding knows these beginnings, and package why.
func callFailed(doing string, err error) error {
	if isOutOfReach(err) {
		return fmt.Errorf("%s the external resource: out of reach: %w", doing, err)
	}
	return fmt.Errorf("%s the external resource: %w", doing, err)
}

// isOutOfReach is true for an error of a call that was not sent, that nobody answered, or whose answer is about calls as such:
// that there are too many, or that the credentials are wrong.
func isOutOfReach(err error) bool {
	_, unanswered := errors.AsType[net.Error](err)
	_, throttled := retryAfter(err)
	return unanswered || throttled || errors.Is(err, limits.ErrSlowDown) || errors.Is(err, limits.ErrRefused)
}

// retryAfter returns how long the external system asks to be left alone: what the method RetryAfter of an error in the
// chain says, for example of those of package limits.
func retryAfter(err error) (after time.Duration, asked bool) {
	var patient interface{ RetryAfter() time.Duration }
	if !errors.As(err, &patient) {
		return 0, false
	}
	after = patient.RetryAfter()
	return after, after > 0
}
