// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clients creates clients of external systems, one for each ProviderConfig in use, and shares them.
//
// A Factory describes how a client is created, once for all kinds and scopes of a provider:
//
//	var clouds = &clients.Factory[v1.ProviderConfigSpec, *sdk.Client]{
//		New: func(_ context.Context, c clients.Connection[v1.ProviderConfigSpec]) (*sdk.Client, error) {
//			return sdk.NewClient(c.Settings.Endpoint, string(c.Credentials), c.HTTPClient)
//		},
//	}
//
// A Pool finds the ProviderConfig that an object uses, reads its credentials and returns a Lease of the client (N2). A changed
// ProviderConfig or a rotated credential creates a new client at once and requeues all objects that use it; reconciles that
// hold the old client finish with it, then it is closed. A client that may end by itself, such as one of a process, is SelfEnding: it is
// replaced at its next use. One with long calls is a Stopper: it is asked to end them when the manager ends.
//
// Package limits bounds the calls of each client: rate, calls in flight, and a circuit breaker. Package credentials reads and
// watches Secrets. Both are applied by the Pool: the HTTP client of a Connection respects the limits.
package clients
