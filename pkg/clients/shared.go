// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// createTimeout bounds the creation of a client.
const createTimeout = 30 * time.Second

// Shared holds the clients of external systems of one sort, one for each key in use, and limits their calls. A Pool is Shared for
// ProviderConfigs. It is safe for concurrent use.
type Shared[C any] struct {
	limits   *limits.Registry
	clients  *cache[C]
	renewing sync.Mutex // held from reading what a client is created from until it is replaced
}

// Wanted is what a client is created from.
type Wanted[C any] struct {
	Key     limits.Key     // of the client in use
	Version limits.Version // of what it is created from: another one replaces it
	Limits  limits.Config  // of its calls
	// New creates the client. The context bounds the call, not the life of the client. An error is returned to all users for one second,
	// then New is called again.
	New func(context.Context, *limits.Limiter) (C, error)
}

// NewShared returns Shared whose clients are kept until they are forgotten. The log is for panics. closed frees a client that is no longer in
// use; changed is called, within a call of the external system, after a fault of it began or ended, and must not block.
func NewShared[C any](log logr.Logger, closed func(C), changed func(limits.Key)) *Shared[C] {
	panicked := func(of limits.Key, call string) {
		log.Error(nil, "The code of a client panicked", "call", call, "of", of.String(), "stack", string(debug.Stack()))
	}
	s := &Shared[C]{limits: limits.NewRegistry(), clients: newCache(math.MaxInt64, closed, panicked, changed)}
	s.limits.OnChange = func(key limits.Key, fault bool) {
		if fault {
			changed(key)
		}
	}
	return s
}

// Get returns the client that is wanted: the same one until that changes. The caller releases it. wanted is called again, one caller at a
// time, where a client has to be created, so that a newer one is never replaced by an older one. The errors are those of wanted and of
// Wanted.New.
func (s *Shared[C]) Get(ctx context.Context, wanted func() (Wanted[C], error)) (client C, release func(), err error) {
	w, err := wanted()
	if err != nil {
		return client, nil, err
	}
	e := s.clients.get(w.Key, w.Version)
	if e == nil {
		if e, err = s.renew(ctx, wanted); err != nil {
			return client, nil, err
		}
	}
	client, err = e.wait(ctx)
	if err != nil {
		s.clients.release(e)
		return client, nil, err
	}
	return client, sync.OnceFunc(func() { s.clients.release(e) }), nil
}

func (s *Shared[C]) renew(ctx context.Context, wanted func() (Wanted[C], error)) (*entry[C], error) {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	w, err := wanted()
	if err != nil {
		return nil, err
	}
	if e := s.clients.get(w.Key, w.Version); e != nil {
		return e, nil
	}
	limiter := s.limits.For(w.Key, w.Version, w.Limits)
	e := s.clients.replace(w.Key, w.Version)
	s.clients.fill(e, func() (C, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
		defer cancel()
		return w.New(ctx, limiter)
	})
	return e, nil
}

// Last returns the client of a key as it was last created, whatever has become of what it was created from, and false if there is none.
func (s *Shared[C]) Last(key limits.Key) (client C, release func(), ok bool) {
	e := s.clients.last(key)
	if e == nil {
		return client, nil, false
	}
	return e.client, sync.OnceFunc(func() { s.clients.release(e) }), true
}

// Check returns the fault of the external system that calls with the present client revealed, nil if there is none.
func (s *Shared[C]) Check(key limits.Key) error {
	s.clients.mu.Lock()
	e := s.clients.entries[key]
	s.clients.mu.Unlock()
	if e == nil {
		return nil
	}
	_, err := s.limits.Check(key, e.from)
	return err
}

// Forget closes the client of a key once its users have released it.
func (s *Shared[C]) Forget(key limits.Key) {
	s.clients.forget(key)
	s.limits.Forget(key)
}

// Stop closes all clients, also those that are created later, once their users have released them. It waits for those of type Stopper while
// the context lasts.
func (s *Shared[C]) Stop(ctx context.Context) { s.clients.stop(ctx) }

// A SelfEnding client may end before it is closed, such as one of a process. Done is closed when it has ended: the client is replaced at its
// next use, at most once a second.
type SelfEnding interface{ Done() <-chan struct{} }

// A Stopper is a client whose calls may be long, and end early if they are asked to. Stop is called once if the client is in use when the
// manager ends. The manager then waits until its users have released it, for at most 25 seconds, which is when the context ends.
type Stopper interface{ Stop(ctx context.Context) }

// errorBackoff is how long the error of Factory.New is returned before New is called again.
const errorBackoff = time.Second

var errEnded = errors.New("the client ended by itself just now, such as a process that crashed: it is created again in a second")

// A cache holds one client for each key. Clients are counted by reference: a replaced client is closed when its last
// user releases it, a current one when idle for a while. It is safe for concurrent use, and by hand because caches of libraries
// close a client on eviction, also in use.
type cache[C any] struct {
	idle     time.Duration
	closer   func(C)                           // may be nil
	panicked func(key limits.Key, call string) // records a panic of a client's code, which is recovered
	changed  func(key limits.Key)              // reports that failure returns something else

	mu      sync.Mutex
	entries map[limits.Key]*entry[C]
	open    map[*entry[C]]bool // not closed yet: those of entries, and retired ones
	stopped bool
}

// An entry is a client that all holders of a reference share.
type entry[C any] struct {
	key    limits.Key
	from   limits.Version
	ready  chan struct{} // closed once the next three are set
	closed chan struct{} // closed once the client is

	client C
	err    error
	at     time.Time // of the creation, or of its failure

	before error // of the last attempt from the same version
	// The lock of the cache guards the rest.
	retired bool        // replaced or forgotten: closed with its last reference
	users   int         // creating the client counts as one
	idle    *time.Timer // closes the client; set while there are no users
}

func newCache[C any](idle time.Duration, closer func(C), panicked func(limits.Key, string), changed func(limits.Key)) *cache[C] {
	return &cache[C]{idle: idle, closer: closer, panicked: panicked, changed: changed, entries: map[limits.Key]*entry[C]{},
		open: map[*entry[C]]bool{}}
}

// failure returns why the last attempt to create a client from this version failed.
func (c *cache[C]) failure(key limits.Key, from limits.Version) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil && e.from == from {
		return e.failure()
	}
	return nil
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

// last returns the client of a key, nil if none was created. The caller releases it.
func (c *cache[C]) last(key limits.Key) *entry[C] {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		return nil
	}
	select {
	case <-e.ready:
	default:
		return nil
	}
	if e.err != nil {
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
	e := &entry[C]{key: key, from: from, ready: make(chan struct{}), closed: make(chan struct{}), users: 2} // the caller and fill
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[e] = true
	if old := c.entries[key]; old != nil {
		if old.from == from {
			e.before = old.failure()
		}
		if c.remove(key, old) {
			go c.close(old)
		}
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
		defer func() {
			close(e.ready)
			if (e.err == nil) != (e.before == nil) {
				c.changed(e.key)
			}
		}()
		defer func() {
			if recover() != nil {
				c.panicked(e.key, "New")
				e.err = errors.New("creating the client panicked: see the controllers' log")
			}
			e.at = time.Now()
		}()
		e.client, e.err = create()
	}()
}

// failure returns why the client could not be created; while it is being created, why the last one could not.
func (e *entry[C]) failure() error {
	select {
	case <-e.ready:
		return e.err
	default:
		return e.before
	}
}

// wait returns the client once it is created, or the error of creating it. One that get returned and that ends before wait does is as one that
// ends in use: it may have been replaced only, and still work. Only one that ended within a second of its creation is refused.
func (e *entry[C]) wait(ctx context.Context) (client C, err error) {
	select {
	case <-e.ready:
		if e.ended() && time.Since(e.at) < errorBackoff {
			return client, errEnded
		}
		return e.client, e.err
	case <-ctx.Done():
		return client, ctx.Err()
	}
}

// failed is true if the client could not be created, or ended by itself, and it is time to create another.
func (e *entry[C]) failed() bool {
	select {
	case <-e.ready:
		return (e.err != nil || e.ended()) && time.Since(e.at) >= errorBackoff
	default:
		return false
	}
}

// ended is true for a client that was created and ended by itself.
func (e *entry[C]) ended() bool {
	client, ends := any(e.client).(SelfEnding)
	if !ends || e.err != nil {
		return false
	}
	select {
	case <-client.Done():
		return true
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
			c.retire(func(_ limits.Key, other *entry[C]) bool { return other == e && e.users == 0 })
		})
	}
	c.mu.Unlock()
	if unused && retired {
		c.close(e)
	}
}

// forget retires the client of a key. It does not wait for Close, which may call the external system.
func (c *cache[C]) forget(key limits.Key) {
	go c.retire(func(other limits.Key, _ *entry[C]) bool { return other == key })
}

// stop retires all clients, also those that are added later. Those in use are closed by their last users; it stops and awaits each Stopper
// among them, also one that was replaced.
func (c *cache[C]) stop(ctx context.Context) {
	c.mu.Lock()
	c.stopped = true
	var stopping sync.WaitGroup
	for e := range c.open {
		if s, ok := e.stopper(); ok && e.users > 0 {
			e.users++
			stopping.Go(func() {
				c.guard(e, "Stop", func() { s.Stop(ctx) })
				c.release(e)
				select {
				case <-e.closed:
				case <-ctx.Done():
				}
			})
		}
	}
	c.mu.Unlock()
	c.retire(func(limits.Key, *entry[C]) bool { return true })
	stopping.Wait()
}

// stopper returns the client of an entry if it is created and a Stopper.
func (e *entry[C]) stopper() (s Stopper, ok bool) {
	select {
	case <-e.ready:
		s, ok = any(e.client).(Stopper)
		return s, ok && e.err == nil
	default:
		return nil, false
	}
}

// retire removes clients from the cache and closes those without users.
func (c *cache[C]) retire(which func(limits.Key, *entry[C]) bool) {
	var unused []*entry[C]
	c.mu.Lock()
	for key, e := range c.entries {
		if which(key, e) && c.remove(key, e) {
			unused = append(unused, e)
		}
	}
	c.mu.Unlock()
	var closing sync.WaitGroup
	for _, e := range unused {
		closing.Go(func() { c.close(e) })
	}
	closing.Wait()
}

// remove retires one client, which the caller has to close if it is unused. The caller holds the lock.
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
	if c.closer != nil && e.err == nil {
		c.guard(e, "Close", func() { c.closer(e.client) })
	}
	close(e.closed)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, e)
}

// guard calls a function of the provider.
func (c *cache[C]) guard(e *entry[C], call string, do func()) {
	defer func() {
		if recover() != nil {
			c.panicked(e.key, call)
		}
	}()
	do()
}
