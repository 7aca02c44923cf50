// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// A System is what the kinds of one external system have in common.
type System[C any] struct {
	// Clients makes the clients of provider configurations.
	Clients clients.Source[C]

	// Classify gives an error of the vendor a reason and, where an application team may read about it, a message, by package
	// failure. It must keep the error in the chain. An error that it returns unchanged is for the platform team only.
	// Default: no error is classified.
	Classify func(error) error

	// IsNotFound is true for the answer that a resource does not exist. Default: never.
	IsNotFound func(error) bool

	// Refused is true for an answer that proves that the call had no effect, for example because the input is invalid or the
	// quota used up. After any other error of Create the resource may exist. Default: never.
	Refused func(error) bool

	// Invalid is true for an answer that the same input will always get. The call is repeated only when the object changes,
	// and at the poll. Default: never.
	Invalid func(error) bool
}

func is(class func(error) bool, err error) bool {
	return err != nil && class != nil && class(err)
}

// callError names the call that failed (R28), and marks an error that repeating the call cannot heal.
func (s System[C]) callError(verb, noun string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := fmt.Errorf("cannot %s %s: %w", verb, noun, s.classified(err))
	if s.invalid(err) {
		return failure.Terminal(wrapped)
	}
	return wrapped
}

func (s System[C]) classified(err error) error {
	if unfit, ok := errors.AsType[unfitError](err); ok {
		return failure.ForTeam(failure.InvalidSettings, unfit.Error(), err)
	}
	if s.Classify == nil {
		return err
	}
	return s.Classify(err)
}

func (s System[C]) invalid(err error) bool {
	_, unfit := errors.AsType[unfitError](err)
	return unfit || is(s.Invalid, err)
}

// createError is callError for Create. It marks errors after which the resource may exist: all but a refusal, and a request
// that was never sent.
func (s System[C]) createError(noun string, err error) error {
	_, unresolved := errors.AsType[*net.DNSError](err)
	_, notSent := errors.AsType[*limits.NotSentError](err)
	unsent := unresolved || notSent || errors.Is(err, syscall.ECONNREFUSED)
	wrapped := s.callError("create", noun, err)
	if unsent || is(s.Refused, err) || s.invalid(err) {
		return wrapped
	}
	return failure.OutcomeUnknown(wrapped)
}
