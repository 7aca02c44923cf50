// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits bounds the calls that a provider makes to an external system, per ProviderConfig and not per reconcile.
//
// The one idea: all users of a ProviderConfig share one Limiter, and a system that says "slow down" or "who are you?" is
// believed at once. Calls that may not be made now are refused here, in no time and without a call, while the users of
// other ProviderConfigs go on.
//
//	registry := limits.NewRegistry()                                   // once per provider
//	limiter := registry.For(key, limits.FromSpec(config.Spec.Limits))   // in Connect; the same one for the same key
//	cloud := sdk.NewClient(&http.Client{Transport: limiter.Transport(transport)})
//
// A client that does not speak HTTP goes through Limiter.Do.
//
// # What a caller sees
//
// A call over the limits waits a moment and is then refused with *Throttled. After an answer 429, or 503 with
// Retry-After, all calls are refused with *Throttled until the time that the system named. After an answer 401 they are
// refused with *Unauthenticated for a while, then one call is let through to see whether that has changed. A system that
// does not answer at all is left alone likewise. Both errors say when to come back, each caller at a time of its own:
//
//	var later interface{ RetryAfter() time.Duration }
//	if errors.As(err, &later) { return reconcile.Result{RequeueAfter: later.RetryAfter()}, nil }
//
// Somebody has to call Registry.Reset when a ProviderConfig or its Secret changes, and may call Registry.Forget when it is
// gone: what nobody uses goes by itself after two hours.
package limits
