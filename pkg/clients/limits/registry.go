// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"crypto/sha256"
	"fmt"
	"maps"
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

// A Version identifies the content of a ProviderConfig and of its credentials.
type Version [sha256.Size]byte

// A Registry holds the limiters of a provider. It is safe for concurrent use.
type Registry struct {
	random func() float64 // in [0, 1), for jitter

	mu       sync.Mutex
	limiters map[Key]*Limiter
	swept    time.Time
}

// NewRegistry returns a registry without limiters.
func NewRegistry() *Registry { return &Registry{random: rand.Float64, limiters: map[Key]*Limiter{}} }

// For returns the limiter for a version of the ProviderConfig. A new version gets a new one: earlier responses of the external
// system concern other settings or credentials.
func (r *Registry) For(key Key, version Version, c Config) *Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	l := r.limiters[key]
	if l == nil || l.version != version {
		l = newLimiter(key, version, c, r.random)
		r.limiters[key] = l
	}
	l.use(now)
	if now.Sub(r.swept) >= keep/2 {
		r.swept = now
		maps.DeleteFunc(r.limiters, func(_ Key, l *Limiter) bool { return l.unusedSince(now.Add(-keep)) })
	}
	return l
}

// Forget drops the limiter of a ProviderConfig that was deleted. Callers that hold the limiter may continue to use it.
func (r *Registry) Forget(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.limiters, key)
}
