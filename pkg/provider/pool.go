// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bowline-dev/bowline/pkg/limits"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	makeTimeout = 30 * time.Second // for New
	errorPause  = time.Second      // for which an error of New stands
)

// A Pool holds the clients of one external system in one manager: one for each configuration that is in use. It is safe
// for concurrent use.
type Pool[C any] struct {
	setup   *Setup
	options poolOptions
	make    func(context.Context, connection) (C, error)
	free    func(C)

	renewing sync.Mutex // held from the last look at a configuration to the replacement of its client

	mu      sync.Mutex
	clients map[configKey]*shared[C]
	stopped bool
}

type poolOptions struct {
	timeout   time.Duration
	idle      time.Duration
	forbidden bool
	transport http.RoundTripper
}

// A connection is what a client is made from, settings as JSON.
type connection struct {
	name        string
	spec        []byte
	credentials []byte
	secret      map[string][]byte
	http        *http.Client
	limiter     Limiter
}

// A shared client serves all passes over the users of one configuration in one state.
type shared[C any] struct {
	state   state
	retired atomic.Bool // replaced or given up: it is closed with its last lease
	made    chan struct{}

	client C // these three are set before made is closed
	err    error
	at     time.Time

	leases int       // guarded by the pool's lock, as is what follows; the making counts as one
	used   time.Time // when the last lease was returned
}

func newPool[C any](s *Setup, o poolOptions) *Pool[C] {
	return &Pool[C]{setup: s, options: o, clients: map[configKey]*shared[C]{}}
}

// For returns the client of the configuration that the object uses (R227 to R229, N2). It is the same for all passes while
// the configuration and its credentials stay as they are.
func (p *Pool[C]) For(ctx context.Context, mg resource.Managed) (*Lease[C], error) {
	f, err := p.setup.find(ctx, mg)
	if err != nil {
		return nil, err
	}
	c := p.current(f)
	if c == nil {
		if f, c, err = p.renew(ctx, mg); err != nil {
			return nil, err
		}
	}
	lease := &Lease[C]{poll: f.pollInterval(), giveUp: sync.OnceFunc(func() { p.release(c) })}
	select {
	case <-c.made:
		err = c.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		lease.Release()
		return nil, fmt.Errorf("cannot create client of %s: %w", f.name, err)
	}
	lease.Client = c.client
	return lease, nil
}

// current leases the client that fits a configuration as it was found, nil if there is none.
func (p *Pool[C]) current(f *found) *shared[C] {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.clients[f.key]
	if c == nil || c.state != f.state || c.failed() {
		return nil
	}
	c.leases++
	return c
}

// failed is true for a client that could not be made, and not just now.
func (c *shared[C]) failed() bool {
	select {
	case <-c.made:
		return c.err != nil && time.Since(c.at) >= errorPause
	default:
		return false
	}
}

// renew looks again, alone, so that nobody replaces a client by an older one, and replaces the client if that is needed.
func (p *Pool[C]) renew(ctx context.Context, mg resource.Managed) (*found, *shared[C], error) {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	f, err := p.setup.find(ctx, mg)
	if err != nil {
		return nil, nil, err
	}
	if c := p.current(f); c != nil {
		return f, c, nil
	}
	c := &shared[C]{state: f.state, made: make(chan struct{}), leases: 2, used: time.Now()} // of the caller and the making
	p.mu.Lock()
	old := p.clients[f.key]
	p.clients[f.key] = c
	if p.stopped {
		p.retire(f.key, c)
	}
	p.mu.Unlock()
	known := p.setup.limits[f.key.group]
	config := limits.FromSpec(f.Limits)
	config.ForbiddenIsRefusal = p.options.forbidden
	limiter := known.For(f.key.Key, config)
	if old != nil {
		p.mu.Lock()
		idle := p.retire(f.key, old)
		p.mu.Unlock()
		if old.state != c.state { // what the external system said before no longer counts
			known.Reset(f.key.Key)
		}
		if idle {
			go p.close(old)
		}
	}
	go p.create(context.WithoutCancel(ctx), c, f, &bounds{limiter: limiter, retired: &c.retired})
	return f, c, nil
}

// create makes a client for all who wait for it.
func (p *Pool[C]) create(ctx context.Context, c *shared[C], f *found, b *bounds) {
	defer p.release(c)
	defer close(c.made)
	defer func() { c.at = time.Now() }()
	defer func() {
		if cause := recover(); cause != nil {
			p.setup.mgr.GetLogger().Error(nil, "The provider's code panicked", "call", "New", "config", f.name, "stack", string(debug.Stack()))
			c.err = errors.New("the provider's code panicked: see the controller's log")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, makeTimeout)
	defer cancel()
	c.client, c.err = p.make(ctx, connection{
		name: f.name, spec: f.raw, credentials: f.credentials, secret: f.secret, limiter: b,
		http: &http.Client{Timeout: p.options.timeout, Transport: b.transport(p.options.transport)},
	})
}

// release ends a lease.
func (p *Pool[C]) release(c *shared[C]) {
	p.mu.Lock()
	c.leases--
	c.used = time.Now()
	last := c.leases == 0 && c.retired.Load()
	p.mu.Unlock()
	if last {
		p.close(c)
	}
}

// retire gives a client to nobody any more. It is true if nobody uses it, so that the caller has to close it. The caller
// holds the lock.
func (p *Pool[C]) retire(key configKey, c *shared[C]) (idle bool) {
	if p.clients[key] == c {
		delete(p.clients, key)
	}
	return !c.retired.Swap(true) && c.leases == 0
}

// forget closes the client of a configuration that is gone.
func (p *Pool[C]) forget(key configKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.clients[key]; c != nil && p.retire(key, c) {
		go p.close(c)
	}
}

// sweep closes the clients that nobody used since the given time.
func (p *Pool[C]) sweep(since time.Time) {
	p.mu.Lock()
	var idle []*shared[C]
	for key, c := range p.clients {
		if c.leases == 0 && !c.used.After(since) && p.retire(key, c) {
			idle = append(idle, c)
		}
	}
	p.mu.Unlock()
	for _, c := range idle {
		p.close(c)
	}
}

// run closes clients that are not used, and with the manager all of them.
func (p *Pool[C]) run(ctx context.Context) error {
	tick := time.NewTicker(max(p.options.idle/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			p.sweep(now.Add(-p.options.idle))
		case <-ctx.Done():
			p.stop()
			return nil
		}
	}
}

// stop closes all clients, those in use with their last lease.
func (p *Pool[C]) stop() {
	p.mu.Lock()
	p.stopped = true
	for key, c := range p.clients {
		if c.leases > 0 {
			p.retire(key, c)
		}
	}
	p.mu.Unlock()
	p.sweep(time.Now())
}

// close frees a client that nobody uses any more.
func (p *Pool[C]) close(c *shared[C]) {
	if p.free == nil || c.err != nil {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			p.setup.mgr.GetLogger().Error(nil, "The provider's code panicked", "call", "Close", "stack", string(debug.Stack()))
		}
	}()
	p.free(c.client)
}
