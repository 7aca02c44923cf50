// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Pool holds the clients of one external system in one manager, one for each ProviderConfig in use. It is safe for
// concurrent use.
type Pool[C any] struct {
	registry  *Registry
	forbidden bool // Factory.ForbiddenIsRefusal
	create    func(context.Context, *config, *limits.Limiter) (C, error)
	lend      func(C) C // Factory.Lend
	shared    *Shared[C]
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
	var config *config
	client, release, err := p.shared.Get(ctx, func() (w Wanted[C], err error) {
		if config, err = p.registry.find(ctx, mg); err != nil {
			return w, err
		}
		bounds := limits.FromSpec(config.Limits)
		bounds.ForbiddenIsRefusal = p.forbidden
		return Wanted[C]{Key: config.key, Version: config.version, Limits: bounds, New: func(ctx context.Context, by *limits.Limiter) (C, error) {
			return p.create(ctx, config, by)
		}}, nil
	})
	switch {
	case config == nil:
		return nil, err
	case err != nil:
		return nil, failure.Default(failure.ProviderConfigUnavailable, config.cannotCreate(err))
	}
	if p.lend != nil {
		client = p.lend(client)
	}
	return &Lease[C]{
		Client: client, adoption: config.adoption(mg.GetNamespace()), pollInterval: config.pollInterval(), secrets: config.secretValues(),
		release: release,
	}, nil
}

func (p *Pool[C]) failure(key limits.Key, from limits.Version) error {
	return p.shared.clients.failure(key, from)
}

func (p *Pool[C]) forget(key limits.Key) { p.shared.clients.forget(key) }

func (p *Pool[C]) stop(ctx context.Context) { p.shared.Stop(ctx) }

const (
	defaultTimeout = 30 * time.Second
	defaultIdle    = 10 * time.Minute
	// maxIdleConnections per host are enough for the workers of a few kinds.
	maxIdleConnections = 64
)

// A Factory describes how clients of one external system are created. S is the spec of its ProviderConfigs, or the part of it
// that New needs; C is the type of the client, which may be SelfEnding and a Stopper. A Factory is a declaration: share one between all kinds.
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
	Name     string         // of the ProviderConfig in messages, for example ProviderConfig "default"
	Key      limits.Key     // of the ProviderConfig
	Version  limits.Version // of the ProviderConfig and its credentials
	Settings S              // spec of the ProviderConfig
	// Credentials that spec.credentials refers to. Nil if it refers to none, or to a Secret without a key.
	Credentials []byte
	// Secret holds all keys of the Secret that spec.credentials refers to, so that the connection Secret of a managed resource
	// can serve as credentials. Nil for credentials from another source.
	Secret map[string][]byte
	// Inputs are the values of Secrets that other fields of the spec, named <name>SecretRef, refer to, by path below spec.
	Inputs map[string][]byte
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
		shared: &Shared[C]{limits: r.limits, clients: newCache(cmp.Or(f.Idle, defaultIdle), f.Close, r.panicked,
			func(key limits.Key) { r.healthChanged(key, false) })},
	}
	p.create = func(ctx context.Context, config *config, by *limits.Limiter) (client C, err error) {
		c := Connection[S]{
			Name: config.name, Key: config.key, Version: config.version, Credentials: config.Value, Secret: config.Secret, Inputs: config.inputs,
			Limiter: by, HTTPClient: &http.Client{Timeout: cmp.Or(f.Timeout, defaultTimeout), Transport: by.Transport(shared)},
		}
		if err := json.Unmarshal(config.spec, &c.Settings); err != nil {
			return client, fmt.Errorf("reading spec: %w", err)
		}
		return f.New(ctx, c)
	}
	return p
}
