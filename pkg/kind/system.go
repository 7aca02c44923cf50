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
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A System is what the kinds of one external system have in common.
type System[C any] struct {
	// Clients are made as provider configurations say.
	Clients clients.Source[C]

	// IsNotFound is true for the vendor's answer that there is no such resource. Default: never.
	IsNotFound func(error) bool

	// Refused is true for an answer that says that the call did nothing, for example because the input is invalid or the
	// quota used up. Any other error of Create leaves open whether the resource was created after all. Default: never.
	Refused func(error) bool

	// Invalid is true for an answer that will be the same for the same input. The call is repeated only when the object
	// changes, and at the poll. Default: never.
	Invalid func(error) bool
}

func is(classify func(error) bool, err error) bool {
	return err != nil && classify != nil && classify(err)
}

// failure says what could not be done (R28), and marks an error of a call that could not be repeated with better luck.
func (s System[C]) failure(verb, noun string, err error) error {
	if err == nil {
		return nil
	}
	told := fmt.Errorf("cannot %s %s: %w", verb, noun, err)
	if s.invalid(err) {
		return managed.Terminal(told)
	}
	return told
}

func (s System[C]) invalid(err error) bool {
	_, unfit := errors.AsType[unfitError](err)
	return unfit || is(s.Invalid, err)
}

// creationFailure marks an error of Create after which the resource may exist all the same: all but a refusal, and a
// request that was never sent.
func (s System[C]) creationFailure(noun string, err error) error {
	_, unresolved := errors.AsType[*net.DNSError](err)
	_, throttled := errors.AsType[*limits.Throttled](err)
	_, unauthenticated := errors.AsType[*limits.Unauthenticated](err)
	unsent := unresolved || throttled || unauthenticated || errors.Is(err, syscall.ECONNREFUSED)
	told := s.failure("create", noun, err)
	if unsent || is(s.Refused, err) || s.invalid(err) {
		return told
	}
	return managed.OutcomeUnknown(told)
}
