// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// errorBackoff is how long the error of Factory.New is returned before New is called again.
const errorBackoff = time.Second

// A cache holds one client for each ProviderConfig. Clients are counted by reference: a replaced client is closed when its last
// user releases it, a current one when it has been idle for a while. It is safe for concurrent use.
type cache[C any] struct {
	idle   time.Duration
	closer func(C) // may be nil
	log    logr.Logger

	mu      sync.Mutex
	entries map[limits.Key]*entry[C]
	stopped bool
}

// An entry is a client shared by all who hold a reference to it.
type entry[C any] struct {
	from  limits.Version
	ready chan struct{} // closed once the next three are set

	client   C
	err      error
	failedAt time.Time
	// The lock of the cache guards the rest.
	retired bool        // replaced or forgotten: closed with its last reference
	users   int         // creating the client counts as one
	idle    *time.Timer // closes the client; set while there are no users
}

func newCache[C any](idle time.Duration, closer func(C), log logr.Logger) *cache[C] {
	return &cache[C]{idle: idle, closer: closer, log: log, entries: map[limits.Key]*entry[C]{}}
}

// get returns the client created from this version, nil if there is none. The caller releases it.
func (c *cache[C]) get(key limits.Key, from limits.Version) *entry[C] {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil || e.from != from || e.failed() {
		return nil
	}
	e.users++
	if e.idle != nil {
		e.idle.Stop()
	}
	return e
}

// replace adds a client that fill creates and the caller releases.
func (c *cache[C]) replace(key limits.Key, from limits.Version) *entry[C] {
	e := &entry[C]{from: from, ready: make(chan struct{}), users: 2} // the caller and fill
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.entries[key]; old != nil && c.remove(key, old) {
		go c.close(old)
	}
	c.entries[key] = e
	if c.stopped {
		c.remove(key, e)
	}
	return e
}

// fill creates the client in the background.
func (c *cache[C]) fill(e *entry[C], create func() (C, error)) {
	go func() {
		defer c.release(e)
		defer close(e.ready)
		defer func() { e.failedAt = time.Now() }()
		defer func() {
			if recover() != nil {
				c.log.Error(nil, "The provider's code panicked", "call", "New", "stack", string(debug.Stack()))
				e.err = errors.New("the provider's code panicked: see the controller's log")
			}
		}()
		e.client, e.err = create()
	}()
}

// wait returns the client once it is created, or the error of creating it.
func (e *entry[C]) wait(ctx context.Context) (client C, err error) {
	select {
	case <-e.ready:
		return e.client, e.err
	case <-ctx.Done():
		return client, ctx.Err()
	}
}

// failed is true if the client could not be created and it is time to try again.
func (e *entry[C]) failed() bool {
	select {
	case <-e.ready:
		return e.err != nil && time.Since(e.failedAt) >= errorBackoff
	default:
		return false
	}
}

// release returns a client. The last user of a retired one closes it.
func (c *cache[C]) release(e *entry[C]) {
	c.mu.Lock()
	e.users--
	unused, retired := e.users == 0, e.retired
	if unused && !retired {
		e.idle = time.AfterFunc(c.idle, func() {
			c.closeAll(c.retire(func(_ limits.Key, other *entry[C]) bool { return other == e && e.users == 0 }))
		})
	}
	c.mu.Unlock()
	if unused && retired {
		c.close(e)
	}
}

// forget retires the client of a ProviderConfig. It does not wait for Close, which may call the external system.
func (c *cache[C]) forget(key limits.Key) {
	go c.closeAll(c.retire(func(other limits.Key, _ *entry[C]) bool { return other == key }))
}

// stop retires all clients, also those that are added later. Those in use are closed by their last users.
func (c *cache[C]) stop() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.closeAll(c.retire(func(limits.Key, *entry[C]) bool { return true }))
}

// retire removes clients from the cache and returns those without users, which the caller has to close.
func (c *cache[C]) retire(which func(limits.Key, *entry[C]) bool) (unused []*entry[C]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if which(key, e) && c.remove(key, e) {
			unused = append(unused, e)
		}
	}
	return unused
}

func (c *cache[C]) closeAll(clients []*entry[C]) {
	for _, e := range clients {
		c.close(e)
	}
}

// remove is retire for one client, which the caller has to close if it is unused. The caller holds the lock.
func (c *cache[C]) remove(key limits.Key, e *entry[C]) (unused bool) {
	delete(c.entries, key)
	e.retired = true
	if e.users > 0 {
		return false
	}
	e.idle.Stop()
	return true
}

func (c *cache[C]) close(e *entry[C]) {
	if c.closer == nil || e.err != nil {
		return
	}
	defer func() {
		if recover() != nil {
			c.log.Error(nil, "The provider's code panicked", "call", "Close", "stack", string(debug.Stack()))
		}
	}()
	c.closer(e.client)
}
