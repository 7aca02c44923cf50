// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits bounds the calls to an external system per ProviderConfig: their rate, the number in flight, and none at all
// while the circuit is open.
//
//	registry := limits.NewRegistry() // once per provider
//	limiter := registry.For(key, version, limits.FromSpec(config.Spec.Limits))
//	cloud := sdk.NewClient(&http.Client{Transport: limiter.Transport(transport)})
//
// Clients that do not use HTTP call Limiter.Do. Package clients does all of this for a provider. Only the users of the
// ProviderConfig concerned are slowed down (N12).
//
// # Errors
//
// A call over the limits waits for up to one second, then fails with *NotSentError. So does every call while the circuit is
// open: after status 429, or 503 with Retry-After, until the time that the external system named; after status 401, or five
// calls without a response, for a pause that doubles each time, after which one trial call is sent. The error is classified
// by package failure as throttled, refused or unreachable. failure.RetryAfter returns a different time for each caller, so
// that they do not come back all at once.
//
// Call Registry.Forget when a ProviderConfig is deleted. Limiters that are not used for two hours are forgotten too.
package limits
