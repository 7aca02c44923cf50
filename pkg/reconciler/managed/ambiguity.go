// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
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
	if _, asked := retryAfter(err); asked || neverSent(err) {
		return false
	}
	_, ofRequest := errors.AsType[*url.Error](err)
	_, ofNetwork := errors.AsType[*net.OpError](err)
	return ofRequest || ofNetwork || answerLost(err)
}

// answerLost is true for errors of a connection that broke, or took too long, after the request may have left.
func answerLost(err error) bool {
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		return true
	}
	for _, lost := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// neverSent is true for errors of a request that did not leave: nobody listens, the connection was not made or not
// trusted, or the address is none.
func neverSent(err error) bool {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	if u, ok := errors.AsType[*url.Error](err); ok && u.Op == "parse" {
		return true
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}

// acceptedError marks an error that came after the external system had answered.
type acceptedError struct{ error }

func (e acceptedError) Unwrap() error { return e.error }

// Accepted marks an error of Create that came after the external system had answered: the name and the connection details
// that Create returns with it are stored, and the creation counts as done (N22). What became of the resource Observe tells.
func Accepted(err error) error {
	if err == nil {
		return nil
	}
	return acceptedError{err}
}

func wasAccepted(err error) bool {
	_, marked := errors.AsType[acceptedError](err)
	return marked
}
