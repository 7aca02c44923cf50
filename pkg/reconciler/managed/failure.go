// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
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
