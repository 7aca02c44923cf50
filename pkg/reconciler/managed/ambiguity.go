// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
)

// unknownOutcomeError marks an error after which the external system may have done the work.
type unknownOutcomeError struct{ error }

func (e unknownOutcomeError) Unwrap() error { return e.error }

// OutcomeUnknown marks an error of Create after which the external resource may exist all the same, for example a
// failure inside the external system. Lost connections and timeouts need no mark; they are recognised. Such a creation
// counts as pending rather than failed, so that nothing is created twice.
func OutcomeUnknown(err error) error {
	if err == nil {
		return nil
	}
	return unknownOutcomeError{err}
}

// outcomeUnknown is true for errors that do not prove that a request was left undone.
func outcomeUnknown(err error) bool {
	if _, marked := errors.AsType[unknownOutcomeError](err); marked {
		return true
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return true
	}
	for _, lost := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}
