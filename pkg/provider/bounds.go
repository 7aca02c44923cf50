// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"net/http"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// bounds apply the limits of a configuration to the calls of one client. Passes that still hold a client which was
// replaced make their last calls without: an answer about credentials that were rotated away says nothing about the new.
type bounds struct {
	limiter *limits.Limiter
	retired func() bool
}

// Do satisfies Limiter.
func (b *bounds) Do(ctx context.Context, call func(context.Context) error) error {
	if b.retired() {
		return call(ctx)
	}
	return b.limiter.Do(ctx, call)
}

// transport makes requests by next as the limits say.
func (b *bounds) transport(next http.RoundTripper) http.RoundTripper {
	return bounded{bounds: b, within: b.limiter.Transport(next), without: next}
}

type bounded struct {
	*bounds
	within, without http.RoundTripper
}

// RoundTrip makes a request when it may be made.
func (t bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.retired() {
		return t.without.RoundTrip(req)
	}
	return t.within.RoundTrip(req)
}
