// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

// NewTestRegistry returns a registry whose pauses have no jitter.
func NewTestRegistry() *Registry {
	r := NewRegistry()
	r.random = func() float64 { return 0 }
	return r
}

// Holds reports whether the registry has a limiter of the key.
func (r *Registry) Holds(key Key) bool { return r.limiters[key] != nil }
