// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leases shares values that are dear to make between all who use them at the same time.
//
// Its one idea: there is one value for each key, and what it was made from is its state. Who asks for another state makes
// another value, which all others get from then on; those who have the old one keep it until they return it, and the
// last of them frees it. A value that nobody uses for a while is freed too.
package leases

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// errorPause is for how long the error of a value that could not be made stands.
const errorPause = time.Second

// A Pool holds the values of type V that were made from states of type S. It is safe for concurrent use.
type Pool[K, S comparable, V any] struct {
	idle time.Duration
	free func(V)
	log  logr.Logger

	mu      sync.Mutex
	values  map[K]*Value[S, V]
	stopped bool
}

// A Value is shared by all who took it.
type Value[S comparable, V any] struct {
	state   S
	retired atomic.Bool // replaced or given up: it is freed with its last lease
	made    chan struct{}

	value V // these three are set before made is closed
	err   error
	at    time.Time

	leases int       // guarded by the pool's lock, as is what follows; the making counts as one
	used   time.Time // when the last lease was returned
}

// New returns an empty pool, which keeps values that nobody uses for the given time. free may be nil.
func New[K, S comparable, V any](idle time.Duration, free func(V), log logr.Logger) *Pool[K, S, V] {
	return &Pool[K, S, V]{idle: idle, free: free, log: log, values: map[K]*Value[S, V]{}}
}

// Take returns the value that was made from this state, nil if there is none. It has to be returned by Release.
func (p *Pool[K, S, V]) Take(key K, from S) *Value[S, V] {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.values[key]
	if v == nil || v.state != from || v.failed() {
		return nil
	}
	v.leases++
	return v
}

// Replace returns a new value for the key, to be made by Make and returned by Release. It tells whether there was one of
// another state, whose users from now on have a value that is retired.
func (p *Pool[K, S, V]) Replace(key K, from S) (v *Value[S, V], changed bool) {
	v = &Value[S, V]{state: from, made: make(chan struct{}), leases: 2, used: time.Now()} // of the caller and of Make
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.values[key]
	p.values[key] = v
	if p.stopped {
		p.retire(key, v)
	}
	if old == nil {
		return v, false
	}
	if p.retire(key, old) {
		go p.end(old)
	}
	return v, old.state != from
}

// Make makes a value in the background, for all who wait for it.
func (p *Pool[K, S, V]) Make(v *Value[S, V], do func() (V, error)) {
	go func() {
		defer close(v.made)
		defer p.Release(v)
		defer func() { v.at = time.Now() }()
		defer func() {
			if cause := recover(); cause != nil {
				p.log.Error(nil, "The provider's code panicked", "call", "New", "stack", string(debug.Stack()))
				v.err = errors.New("the provider's code panicked: see the controller's log")
			}
		}()
		v.value, v.err = do()
	}()
}

// Wait returns the value as soon as it is made, or why it could not be.
func (v *Value[S, V]) Wait(ctx context.Context) (value V, err error) {
	select {
	case <-v.made:
		return v.value, v.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// Retired is true once others get another value.
func (v *Value[S, V]) Retired() bool { return v.retired.Load() }

// failed is true for a value that could not be made, and not just now.
func (v *Value[S, V]) failed() bool {
	select {
	case <-v.made:
		return v.err != nil && time.Since(v.at) >= errorPause
	default:
		return false
	}
}

// Release returns a value.
func (p *Pool[K, S, V]) Release(v *Value[S, V]) {
	p.mu.Lock()
	v.leases--
	v.used = time.Now()
	last := v.leases == 0 && v.Retired()
	p.mu.Unlock()
	if last {
		p.end(v)
	}
}

// Forget retires the value of a key.
func (p *Pool[K, S, V]) Forget(key K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.values[key]; v != nil && p.retire(key, v) {
		go p.end(v)
	}
}

// Run frees values that nobody uses until the context ends, and then all.
func (p *Pool[K, S, V]) Run(ctx context.Context) error {
	tick := time.NewTicker(max(p.idle/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			p.sweep(now.Add(-p.idle))
		case <-ctx.Done():
			p.stop()
			return nil
		}
	}
}

// stop frees all values, those in use with their last lease.
func (p *Pool[K, S, V]) stop() {
	p.mu.Lock()
	p.stopped = true
	for key, v := range p.values {
		if v.leases > 0 {
			p.retire(key, v)
		}
	}
	p.mu.Unlock()
	p.sweep(time.Now())
}

// sweep frees the values that nobody used since the given time.
func (p *Pool[K, S, V]) sweep(since time.Time) {
	p.mu.Lock()
	var idle []*Value[S, V]
	for key, v := range p.values {
		if v.leases == 0 && !v.used.After(since) && p.retire(key, v) {
			idle = append(idle, v)
		}
	}
	p.mu.Unlock()
	for _, v := range idle {
		p.end(v)
	}
}

// retire gives a value to nobody any more. It is true if nobody uses it, so that the caller has to end it. The caller holds
// the lock.
func (p *Pool[K, S, V]) retire(key K, v *Value[S, V]) (unused bool) {
	if p.values[key] == v {
		delete(p.values, key)
	}
	return !v.retired.Swap(true) && v.leases == 0
}

// end frees a value that nobody uses any more.
func (p *Pool[K, S, V]) end(v *Value[S, V]) {
	if p.free == nil || v.err != nil {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			p.log.Error(nil, "The provider's code panicked", "call", "Close", "stack", string(debug.Stack()))
		}
	}()
	p.free(v.value)
}
