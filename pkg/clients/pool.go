// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// createTimeout bounds Factory.New.
const createTimeout = 30 * time.Second

// A Pool holds the clients of one external system in one manager, one for each ProviderConfig in use. It is safe for
// concurrent use.
type Pool[C any] struct {
	registry  *Registry
	forbidden bool // Factory.ForbiddenIsRefusal
	create    func(context.Context, *config, *limits.Limiter) (C, error)
	lend      func(C) C // Factory.Lend
	clients   *cache[C]

	renewing sync.Mutex // held from reading a ProviderConfig until its client is replaced
}

// A Lease is a client in use by one reconcile. An external client that embeds it returns it at the end of the reconcile, uses
// the poll interval and the rules of adoption of the ProviderConfig, and keeps credentials out of error messages (managed.Disconnecter,
// managed.PollIntervalChooser, managed.AdoptionRuler, managed.SecretKeeper).
type Lease[C any] struct {
	// Client of the external system, shared with other reconciles unless Factory.Lend returned it.
	Client C

	adoption     resource.Adoption
	pollInterval time.Duration
	secrets      [][]byte
	release      func()
}

// PollInterval of the external resources that use the ProviderConfig; zero if it sets none.
func (l *Lease[C]) PollInterval() time.Duration { return l.pollInterval }

// Adoption returns which existing external resources the object may adopt.
func (l *Lease[C]) Adoption() resource.Adoption { return l.adoption }

// SecretValues are the credentials of the client.
func (l *Lease[C]) SecretValues() [][]byte { return l.secrets }

// Release returns the client, which must not be used afterwards. Further calls do nothing.
func (l *Lease[C]) Release() {
	if l.release != nil {
		l.release()
	}
}

// Disconnect is Release, called by the managed reconciler at the end of a reconcile.
func (l *Lease[C]) Disconnect(context.Context) error {
	l.Release()
	return nil
}

// For returns the client of the ProviderConfig that the object uses: the same one until the ProviderConfig or its credentials
// change (R227 to R229, N2). Errors are classified by package failure, as ProviderConfigUnavailable unless Factory.New
// classifies them.
func (p *Pool[C]) For(ctx context.Context, mg resource.Managed) (*Lease[C], error) {
	config, err := p.registry.find(ctx, mg)
	if err != nil {
		return nil, err
	}
	shared := p.clients.get(config.key, config.version)
	if shared == nil {
		if config, shared, err = p.renew(ctx, mg); err != nil {
			return nil, err
		}
	}
	client, err := shared.wait(ctx)
	if err != nil {
		p.clients.release(shared)
		return nil, failure.Default(failure.ProviderConfigUnavailable, config.cannotCreate(err))
	}
	if p.lend != nil {
		client = p.lend(client)
	}
	release := sync.OnceFunc(func() { p.clients.release(shared) })
	return &Lease[C]{
		Client: client, adoption: config.adoption(mg.GetNamespace()), pollInterval: config.pollInterval(), secrets: config.secretValues(),
		release: release,
	}, nil
}

// renew reads the ProviderConfig again, one caller at a time, so that a newer client is never replaced by an older one.
func (p *Pool[C]) renew(ctx context.Context, mg resource.Managed) (*config, *entry[C], error) {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	config, err := p.registry.find(ctx, mg)
	if err != nil {
		return nil, nil, err
	}
	if shared := p.clients.get(config.key, config.version); shared != nil {
		return config, shared, nil
	}
	bounds := limits.FromSpec(config.Limits)
	bounds.ForbiddenIsRefusal = p.forbidden
	limiter := p.registry.limits.For(config.key, config.version, bounds)
	shared := p.clients.replace(config.key, config.version)
	p.clients.fill(shared, func() (C, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
		defer cancel()
		return p.create(ctx, config, limiter)
	})
	return config, shared, nil
}

func (p *Pool[C]) failure(key limits.Key, from limits.Version) error {
	return p.clients.failure(key, from)
}

func (p *Pool[C]) forget(key limits.Key) { p.clients.forget(key) }

func (p *Pool[C]) stop() { p.clients.stop() }

const (
	defaultTimeout = 30 * time.Second
	defaultIdle    = 10 * time.Minute
	// maxIdleConnections per host are enough for the workers of a few kinds.
	maxIdleConnections = 64
)

// A Factory describes how clients of one external system are created. S is the spec of its ProviderConfigs, or the part of it
// that New needs; C is the type of the client. A Factory is a declaration: share one between all kinds.
type Factory[S, C any] struct {
	// New creates the client of a ProviderConfig: once for all its users, and again when the ProviderConfig or its credentials
	// change. The context bounds the call, not the life of the client. An error is returned to all users for one second, then
	// New is called again. Errors must not contain secrets.
	New func(ctx context.Context, c Connection[S]) (C, error)
	// Lend returns what one reconcile uses: a client of its own that shares what New opened. Default: the client itself.
	Lend func(C) C
	// Close frees a client that is no longer in use. Default: nothing.
	Close func(C)
	// Timeout bounds each HTTP request including its response. Default: 30 seconds; the deadline of the pass is one minute.
	Timeout time.Duration
	// Idle is how long an unused client is kept. Default: 10 minutes.
	Idle time.Duration
	// Wrap adds a transport, for example one that counts requests, around the one that all clients share. It sees only
	// requests that the limits let through. Default: nothing.
	Wrap func(http.RoundTripper) http.RoundTripper
	// ForbiddenIsRefusal treats HTTP status 403 like 401, for systems that answer 403 to unknown credentials.
	ForbiddenIsRefusal bool
}

// A Connection is what a client is created from.
type Connection[S any] struct {
	Name     string // of the ProviderConfig in messages, for example ProviderConfig "default"
	Settings S      // spec of the ProviderConfig
	// Credentials that spec.credentials refers to. Nil if it refers to none, or to a Secret without a key.
	Credentials []byte
	// Secret holds all keys of the Secret that spec.credentials refers to, so that the connection Secret of a managed resource
	// can serve as credentials. Nil for credentials from another source.
	Secret map[string][]byte
	// HTTPClient applies the limits of the ProviderConfig and its circuit breaker. Its connections are shared by all clients of
	// the Factory.
	HTTPClient *http.Client
	// Limiter does the same for clients that do not use HTTP: pass each call to its Do.
	Limiter *limits.Limiter
}

// A Source of clients of type C. *Factory is one.
type Source[C any] interface {
	// In returns the pool of the registry, the same one on each call.
	In(r *Registry) *Pool[C]
}

// In returns the pool of the registry, the same one on each call, so that all kinds of a provider share their clients.
func (f *Factory[S, C]) In(r *Registry) *Pool[C] {
	return r.pool(f, func() pool { return f.newPool(r) }).(*Pool[C])
}

func (f *Factory[S, C]) newPool(r *Registry) *Pool[C] {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = maxIdleConnections
	shared := http.RoundTripper(transport)
	if f.Wrap != nil {
		shared = f.Wrap(transport)
	}
	p := &Pool[C]{
		registry: r, forbidden: f.ForbiddenIsRefusal, lend: f.Lend,
		clients: newCache(cmp.Or(f.Idle, defaultIdle), f.Close, r.panicked, func(key limits.Key) { r.healthChanged(key, false) }),
	}
	p.create = func(ctx context.Context, config *config, by *limits.Limiter) (client C, err error) {
		c := Connection[S]{
			Name: config.name, Credentials: config.Value, Secret: config.Secret, Limiter: by,
			HTTPClient: &http.Client{Timeout: cmp.Or(f.Timeout, defaultTimeout), Transport: by.Transport(shared)},
		}
		if err := json.Unmarshal(config.spec, &c.Settings); err != nil {
			return client, fmt.Errorf("reading spec: %w", err)
		}
		return f.New(ctx, c)
	}
	return p
}

// errorBackoff is how long the error of Factory.New is returned before New is called again.
const errorBackoff = time.Second

// A cache holds one client for each ProviderConfig. Clients are counted by reference: a replaced client is closed when its last
// user releases it, a current one when idle for a while. It is safe for concurrent use, and by hand because caches of libraries
// close a client on eviction, also in use.
type cache[C any] struct {
	idle     time.Duration
	closer   func(C)                           // may be nil
	panicked func(key limits.Key, call string) // records a panic of the provider's code, which is recovered
	changed  func(key limits.Key)              // reports that failure returns something else

	mu      sync.Mutex
	entries map[limits.Key]*entry[C]
	stopped bool
}

// An entry is a client that all holders of a reference share.
type entry[C any] struct {
	key   limits.Key
	from  limits.Version
	ready chan struct{} // closed once the next three are set

	client   C
	err      error
	failedAt time.Time

	before error // of the last attempt from the same version
	// The lock of the cache guards the rest.
	retired bool        // replaced or forgotten: closed with its last reference
	users   int         // creating the client counts as one
	idle    *time.Timer // closes the client; set while there are no users
}

func newCache[C any](idle time.Duration, closer func(C), panicked func(limits.Key, string), changed func(limits.Key)) *cache[C] {
	return &cache[C]{idle: idle, closer: closer, panicked: panicked, changed: changed, entries: map[limits.Key]*entry[C]{}}
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

// replace adds a client that fill creates and the caller releases.
func (c *cache[C]) replace(key limits.Key, from limits.Version) *entry[C] {
	e := &entry[C]{key: key, from: from, ready: make(chan struct{}), users: 2} // the caller and fill
	c.mu.Lock()
	defer c.mu.Unlock()
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
				e.err = errors.New("the provider's code panicked: see the controller's log")
			}
			e.failedAt = time.Now()
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
			c.retire(func(_ limits.Key, other *entry[C]) bool { return other == e && e.users == 0 })
		})
	}
	c.mu.Unlock()
	if unused && retired {
		c.close(e)
	}
}

// forget retires the client of a ProviderConfig. It does not wait for Close, which may call the external system.
func (c *cache[C]) forget(key limits.Key) {
	go c.retire(func(other limits.Key, _ *entry[C]) bool { return other == key })
}

// stop retires all clients, also those that are added later. Those in use are closed by their last users.
func (c *cache[C]) stop() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.retire(func(limits.Key, *entry[C]) bool { return true })
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
	for _, e := range unused {
		c.close(e)
	}
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
	if c.closer == nil || e.err != nil {
		return
	}
	defer func() {
		if recover() != nil {
			c.panicked(e.key, "Close")
		}
	}()
	c.closer(e.client)
}
