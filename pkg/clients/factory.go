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
)

const (
	defaultTimeout = 10 * time.Second
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
	// Close frees a client that is no longer in use. Default: nothing.
	Close func(C)
	// Timeout bounds each HTTP request including its response. Default: 10 seconds.
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
	// Name of the ProviderConfig in messages, for example ProviderConfig "default".
	Name string
	// Settings are the spec of the ProviderConfig.
	Settings S
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
		registry: r, forbidden: f.ForbiddenIsRefusal, clients: newCache(cmp.Or(f.Idle, defaultIdle), f.Close, r.mgr.GetLogger()),
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
