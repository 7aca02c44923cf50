// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fence keeps a process that another one replaced from changing the external system.
//
// A process that was frozen, as when its virtual machine is paused or moved, does not notice that its lease ended and that another process
// finished its work. When it wakes, its calls go on where they stopped. So the reconciler puts fences into the context of each call that
// creates, updates or deletes. Limiters and the HTTP clients of package clients check them right before each request. A client that uses
// neither wraps its transport by Transport, or calls Send.
package fence

import (
	"context"
	"net/http"
	"time"

	"github.com/bowline-dev/bowline/pkg/failure"
)

// A Fence returns an error once calls must not be sent any more. It is safe for concurrent use.
type Fence func() error

type key struct{}

// With returns a context whose calls the fence limits, besides the fences that the context has already.
func With(ctx context.Context, f Fence) context.Context {
	outer := ctx
	return context.WithValue(ctx, key{}, Fence(func() error {
		if err := Check(outer); err != nil {
			return err
		}
		return f()
	}))
}

// Check returns the error of a fence of the context: no call that changes the external system must be sent then.
func Check(ctx context.Context) error {
	if f, ok := ctx.Value(key{}).(Fence); ok {
		return f()
	}
	return nil
}

// Send is Check right before a call is sent, and tells OnSend.
func Send(ctx context.Context) error {
	err := Check(ctx)
	if sent, ok := ctx.Value(sentKey{}).(func()); ok && err == nil {
		sent()
	}
	return err
}

type sentKey struct{}

// OnSend returns a context whose calls are reported when they are sent. What sends may do so concurrently.
func OnSend(ctx context.Context, sent func()) context.Context {
	return context.WithValue(ctx, sentKey{}, sent)
}

// IsOver is true after a time by one of two clocks: the timers of a paused machine stand still, and its wall clock may be set back.
func IsOver(end time.Time) bool {
	now := time.Now()
	return now.After(end) || now.Round(0).After(end.Round(0))
}

// Late returns the error of a call that was not sent. what begins the message.
func Late(what string) error {
	return failure.With(failure.CallTooLate, &Error{What: what})
}

// An Error reports that a call was not sent, since another process may have taken over meanwhile.
type Error struct {
	What string // that is too late
}

// Error says that nothing was sent.
func (e *Error) Error() string {
	return e.What + ": another process may have taken over meanwhile, and nothing is sent to the external system"
}

// again is how long a process that still works waits before it makes the call anew.
const again = time.Second

// RetryAfter is how long to wait before the call is made anew, see failure.RetryAfter.
func (e *Error) RetryAfter() time.Duration { return again }

// Transport returns a transport that sends requests by next, nil for http.DefaultTransport, but those that change something only if the
// fences permit it.
func Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return transport{next}
}

type transport struct{ next http.RoundTripper }

// RoundTrip sends a request if the fences of its context permit it.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return t.next.RoundTrip(r)
	}
	if err := Send(r.Context()); err != nil {
		if r.Body != nil {
			r.Body.Close() // as the contract of RoundTripper demands
		}
		return nil, err
	}
	return t.next.RoundTrip(r)
}
