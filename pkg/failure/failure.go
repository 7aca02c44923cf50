// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failure classifies errors, so that no code has to read their text.
//
// An error is classified where it arises: it gets a Reason, which programs may rely on, and, where an application team may read
// about it, a Message. Other text may name addresses, credentials or objects of others, and is for the platform team only.
//
//	return failure.ForTeam(failure.QuotaExceeded, "the quota of 5 buckets is used up: delete one, or ask for more", err)
//	return failure.Terminal(err) // repeating the call cannot help
//
// Wrapping with fmt.Errorf keeps the classification. Reconcilers report it in condition Stalled or Reconciling.
package failure

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
)

// A Reason is a stable CamelCase code for the cause of a failure. The constants of this package are those that Bowline
// itself uses; providers may add their own.
type Reason = xpv1.ConditionReason

// An Error is an error with a classification.
type Error struct {
	Reason Reason // the cause
	// Message is what an application team may read: one sentence on what is wrong and what to do, without addresses,
	// credentials, or names that the team did not choose. Empty: for the platform team only.
	Message string
	Err     error // the cause in full, for the platform team. May be nil where Message is complete.
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error for the platform team.
func New(reason Reason, text string) error { return With(reason, errors.New(text)) }

// With classifies an error anew, for the platform team only. Nil stays nil.
func With(reason Reason, err error) error { return ForTeam(reason, "", err) }

// ForTeam classifies an error and adds what the application team may read of it. See Error.Message. Nil stays nil.
func ForTeam(reason Reason, message string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Reason: reason, Message: message, Err: err}
}

// Default classifies an error that Of cannot classify, for the platform team only.
func Default(reason Reason, err error) error {
	if err == nil || Of(err).Reason != InternalError {
		return err
	}
	return With(reason, err)
}

// What application teams read of failures that concern none of their own objects.
const (
	messageUnreachable = "the provider cannot reach the external system at the moment, and tries again: if it lasts, ask your platform team"
	messageThrottled   = "the external system accepts no further calls at the moment, and the provider tries again later"
)

// Unreachable classifies an error of a call that the external system did not answer, or that was not sent because it
// did not answer earlier ones; as ExternalSystemUntrusted if no secure connection could be established. Nil stays nil.
func Unreachable(err error) error { return ForTeam(noResponse(err), messageUnreachable, err) }

// Untrusted is Unreachable for a call that was not sent because earlier ones found no secure connection. Nil stays nil.
func Untrusted(err error) error { return ForTeam(ExternalSystemUntrusted, messageUnreachable, err) }

// noResponse distinguishes a certificate that is not trusted, and a server that speaks no TLS, which people have to correct, from
// a system that may come back.
func noResponse(err error) Reason {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	op, network := errors.AsType[*net.OpError](err)
	alert := network && op.Op == "remote error" // of package tls: the server refuses the handshake
	if untrusted || plain || alert || errors.Is(err, http.ErrSchemeMismatch) {
		return ExternalSystemUntrusted
	}
	return ExternalSystemUnreachable
}

// Throttled classifies an error of a call that the external system turned away because there were too many. after is
// how long it asks to wait; zero if it sets none. Nil stays nil.
func Throttled(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	if after > 0 {
		err = throttledError{error: err, after: after}
	}
	return ForTeam(ExternalSystemThrottled, messageThrottled, err)
}

type throttledError struct {
	error
	after time.Duration
}

func (e throttledError) Unwrap() error             { return e.error }
func (e throttledError) RetryAfter() time.Duration { return e.after }

// RetryAfter returns how long the external system asks to wait, and false if it does not ask: the method
// RetryAfter() time.Duration of an error in the chain.
func RetryAfter(err error) (after time.Duration, asked bool) {
	var throttled interface{ RetryAfter() time.Duration }
	if !errors.As(err, &throttled) {
		return 0, false
	}
	after = throttled.RetryAfter()
	return after, after > 0
}

// Marks of an error besides its classification.
var (
	errTerminal       = errors.New("terminal")
	errAccepted       = errors.New("accepted")
	errOutcomeUnknown = errors.New("outcome unknown")
)

// A markedError has the text of the error that it marks.
type markedError struct {
	error
	mark error
}

func (e markedError) Unwrap() []error { return []error{e.error, e.mark} }

func marked(err, as error) error {
	if err == nil {
		return nil
	}
	return markedError{err, as}
}

// Terminal marks an error that repeating the call cannot heal, such as an invalid setting. The call is repeated when the object
// changes and at the poll. It does not classify: use it together with ForTeam. Nil stays nil.
func Terminal(err error) error { return marked(err, errTerminal) }

// Refusal returns a terminal error whose whole text the application team may read.
func Refusal(reason Reason, text string) error {
	return Terminal(ForTeam(reason, text, errors.New(text)))
}

// IsTerminal is true for errors marked by Terminal.
func IsTerminal(err error) bool { return errors.Is(err, errTerminal) }

// A Class is what is known of a failure without its text.
type Class struct {
	Reason  Reason // the cause, InternalError for an error without a classification
	Message string // what an application team may read; empty if the failure is for the platform team only
}

// Of returns the classification of the outermost Error in the chain. Without one, an error that asks to wait counts as
// throttled, and a network error or an expired deadline as unreachable; so classify errors of the API server by With. Of nil it
// is the zero Class.
func Of(err error) Class {
	if err == nil {
		return Class{}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return Class{Reason: e.Reason, Message: e.Message}
	}
	if _, asked := RetryAfter(err); asked {
		return Class{Reason: ExternalSystemThrottled, Message: messageThrottled}
	}
	reason := noResponse(err)
	if _, network := errors.AsType[net.Error](err); network || reason == ExternalSystemUntrusted || errors.Is(err, context.DeadlineExceeded) {
		return Class{Reason: reason, Message: messageUnreachable}
	}
	return Class{Reason: InternalError}
}

// Redact returns the error without the given secrets in its text, as they are or in a usual spelling: quoted by Go (%q,
// %+q) or in JSON, with doubled quotes as in SQL, escaped for a URL's user, path or query, or in base64. Secrets shorter than
// four bytes are not looked for. Of a text of more than 4 KiB the middle is left out. The chain of the error stays, and so does its
// classification.
func Redact(err error, secrets ...[]byte) error { return redact.Error(err, secrets...) }

// OutcomeUnknown marks an error of Create after which the external resource may exist, such as an internal error of the external
// system. Lost connections and timeouts need no mark. The creation counts as pending, so that nothing is created twice. Nil
// stays nil.
func OutcomeUnknown(err error) error { return marked(err, errOutcomeUnknown) }

// Accepted marks an error of Create after the answer: what Create returns with it is stored, and the creation counts as done. Nil
// stays nil.
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

// neverSent is true if the connection was refused or not trusted, or the address is invalid.
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
