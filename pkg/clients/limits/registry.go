// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// keep is how long an unused limiter is kept: longer than any pause that it may have to remember, and than the hour within
// which every object is polled.
const keep = 2 * time.Hour

// A Key identifies a ProviderConfig of a provider.
type Key struct {
	// Group of the kind. It does not appear in messages.
	Group string
	// Kind is ProviderConfig or ClusterProviderConfig.
	Kind string
	// Namespace is empty for cluster-scoped kinds.
	Namespace string
	// Name of the object.
	Name string
}

// String names the object in messages.
func (k Key) String() string {
	if k.Namespace == "" {
		return fmt.Sprintf("%s %q", k.Kind, k.Name)
	}
	return fmt.Sprintf("%s %q", k.Kind, k.Namespace+"/"+k.Name)
}

// A Registry holds the limiters of a provider. It is safe for concurrent use.
type Registry struct {
	random func() float64 // in [0, 1), for jitter

	mu       sync.Mutex
	limiters map[Key]*Limiter
	swept    time.Time
}

// NewRegistry returns a registry without limiters.
func NewRegistry() *Registry {
	return &Registry{random: rand.Float64, limiters: map[Key]*Limiter{}}
}

// For returns the limiter of the key, the same one on each call, and applies the given limits to it.
func (r *Registry) For(key Key, c Config) *Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limiters[key]
	if l == nil {
		l = newLimiter(key, r.random)
		r.limiters[key] = l
	}
	l.configure(c)
	r.sweep(time.Now())
	return l
}

// sweep forgets unused limiters.
func (r *Registry) sweep(now time.Time) {
	if now.Sub(r.swept) < keep/2 {
		return
	}
	r.swept = now
	for key, l := range r.limiters {
		if l.unusedSince(now.Add(-keep)) {
			delete(r.limiters, key)
		}
	}
}

// Reset closes the circuit of the key, to be called when its ProviderConfig or the credentials change. Results of calls in
// flight no longer count.
func (r *Registry) Reset(key Key) {
	r.mu.Lock()
	l := r.limiters[key]
	r.mu.Unlock()
	if l != nil {
		l.reset()
	}
}

// Forget drops the limiter of the key, to be called when its ProviderConfig is deleted. Callers that hold the limiter may
// continue to use it; For returns a new one.
func (r *Registry) Forget(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.limiters, key)
}
