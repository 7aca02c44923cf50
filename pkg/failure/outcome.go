// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"syscall"
)

// OutcomeUnknown marks an error of Create after which the external resource may exist all the same, for example an internal
// error of the external system. Lost connections and timeouts need no mark; they are recognised. Such a creation counts
// as pending rather than failed, so that nothing is created twice. Nil stays nil.
func OutcomeUnknown(err error) error { return marked(err, errOutcomeUnknown) }

// Accepted marks an error of Create that came after the external system had answered: the name and the connection details
// that Create returns with it are stored, and the creation counts as done. Nil stays nil.
func Accepted(err error) error { return marked(err, errAccepted) }

// IsAccepted is true for errors marked by Accepted.
func IsAccepted(err error) bool { return errors.Is(err, errAccepted) }

// IsOutcomeUnknown is true for errors that do not prove that a request had no effect.
func IsOutcomeUnknown(err error) bool {
	if errors.Is(err, errOutcomeUnknown) {
		return true
	}
	if _, asked := RetryAfter(err); asked || neverSent(err) {
		return false
	}
	_, ofRequest := errors.AsType[*url.Error](err)
	_, ofNetwork := errors.AsType[*net.OpError](err)
	return ofRequest || ofNetwork || IsAnswerLost(err)
}

// IsAnswerLost is true for errors of a connection that broke, or timed out, after the request may have been sent.
func IsAnswerLost(err error) bool {
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

// neverSent is true for errors of a request that was not sent: the connection was refused or not trusted, or the address
// is invalid.
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
