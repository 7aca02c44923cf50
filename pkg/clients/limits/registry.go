// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	defaultPatience = time.Second
	// idle is how long a limiter that nobody uses is kept: longer than any pause that it may have to remember, and than
	// the hour within which every object is looked at.
	idle = 2 * time.Hour
)

// A Key identifies a ProviderConfig within a provider.
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

// String names the object as messages do.
func (k Key) String() string {
	if k.Namespace == "" {
		return fmt.Sprintf("%s %q", k.Kind, k.Name)
	}
	return fmt.Sprintf("%s %q", k.Kind, k.Namespace+"/"+k.Name)
}

// A Registry holds the limiters of a provider. It is safe for concurrent use.
//
// What it knows about a key goes with Forget, and also if no call was begun and nobody asked for the limiter during two
// hours, so that it needs memory only for keys that are in use.
type Registry struct {
	patience time.Duration
	now      func() time.Time
	random   func() float64

	mu       sync.Mutex
	limiters map[Key]*Limiter
	swept    time.Time
}

// An Option changes one thing about a Registry.
type Option func(*Registry)

// WithPatience sets how long a call over the limits waits for its turn before it is refused. Default: 1 second.
func WithPatience(d time.Duration) Option {
	return func(r *Registry) { r.patience = d }
}

// WithClock sets where the time comes from that limits and pauses are judged by. Calls that wait for their turn wait by
// the real clock. Default: time.Now.
func WithClock(now func() time.Time) Option {
	return func(r *Registry) { r.now = now }
}

// WithRandom sets where the jitter of pauses comes from: numbers in [0, 1). Default: math/rand.
func WithRandom(random func() float64) Option {
	return func(r *Registry) { r.random = random }
}

// NewRegistry returns a registry without limiters.
func NewRegistry(o ...Option) *Registry {
	r := &Registry{patience: defaultPatience, now: time.Now, random: rand.Float64, limiters: map[Key]*Limiter{}}
	for _, apply := range o {
		apply(r)
	}
	return r
}

// For returns the limiter of the key, the same one each time, and lets the given limits take effect.
func (r *Registry) For(key Key, c Config) *Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limiters[key]
	if l == nil {
		l = newLimiter(key, r.patience, r.now, r.random)
		r.limiters[key] = l
	}
	l.configure(c)
	r.sweep()
	return l
}

// sweep forgets limiters that nobody uses any more.
func (r *Registry) sweep() {
	now := r.now()
	if now.Sub(r.swept) < idle/2 {
		return
	}
	r.swept = now
	for key, l := range r.limiters {
		if l.idleSince(now.Add(-idle)) {
			delete(r.limiters, key)
		}
	}
}

// Reset lets calls of the key be made again at once. Call it when its ProviderConfig or the Secret of that changed: what
// the external system said about the ones before no longer counts, not even what calls under way still come to hear.
func (r *Registry) Reset(key Key) {
	if l := r.find(key); l != nil {
		l.reset()
	}
}

// Forget frees what is known about the key. Call it when its ProviderConfig is gone, whatever calls are under way: they,
// and callers who hold the limiter, go on by what it knows. Who asks for the key from then on gets a new limiter.
func (r *Registry) Forget(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.limiters, key)
}

// Stats returns the figures of the key, zeros if nothing is known about it.
func (r *Registry) Stats(key Key) Stats {
	if l := r.find(key); l != nil {
		return l.stats()
	}
	return Stats{}
}

func (r *Registry) find(key Key) *Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limiters[key]
}
