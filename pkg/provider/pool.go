// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/provider/internal/leases"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// makeTimeout bounds Clients.New.
const makeTimeout = 30 * time.Second

// A Pool holds the clients of one external system in one manager: one for each configuration that is in use. It is safe
// for concurrent use.
type Pool[C any] struct {
	setup   *Setup
	options poolOptions
	make    func(context.Context, connection) (C, error)
	clients *leases.Pool[configKey, state, C]

	renewing sync.Mutex // held from the last look at a configuration to the replacement of its client
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

// For returns the client of the configuration that the object uses (R227 to R229, N2). It is the same for all passes while
// the configuration and its credentials stay as they are.
func (p *Pool[C]) For(ctx context.Context, mg resource.Managed) (*Lease[C], error) {
	f, err := p.setup.find(ctx, mg)
	if err != nil {
		return nil, err
	}
	shared := p.clients.Take(f.key, f.state)
	if shared == nil {
		if f, shared, err = p.renew(ctx, mg); err != nil {
			return nil, err
		}
	}
	client, err := shared.Wait(ctx)
	if err != nil {
		p.clients.Release(shared)
		return nil, managed.Redact(fmt.Errorf("cannot create client of %s: %w", f.name, err), f.secretValues()...)
	}
	giveUp := sync.OnceFunc(func() { p.clients.Release(shared) })
	return &Lease[C]{Client: client, poll: f.pollInterval(), secrets: f.secretValues(), giveUp: giveUp}, nil
}

// renew looks again, alone, so that nobody replaces a client by an older one, and replaces the client if that is needed.
func (p *Pool[C]) renew(ctx context.Context, mg resource.Managed) (*found, *leases.Value[state, C], error) {
	p.renewing.Lock()
	defer p.renewing.Unlock()
	f, err := p.setup.find(ctx, mg)
	if err != nil {
		return nil, nil, err
	}
	if shared := p.clients.Take(f.key, f.state); shared != nil {
		return f, shared, nil
	}
	config := limits.FromSpec(f.Limits)
	config.ForbiddenIsRefusal = p.options.forbidden
	known := p.setup.limits[f.key.group]
	limiter := known.For(f.key.Key, config)
	shared, changed := p.clients.Replace(f.key, f.state)
	if changed { // what the external system said before no longer counts
		known.Reset(f.key.Key)
	}
	p.clients.Make(shared, func() (C, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makeTimeout)
		defer cancel()
		return p.make(ctx, p.connection(f, &bounds{limiter: limiter, retired: shared.Retired}))
	})
	return f, shared, nil
}

// connection is what a client of the configuration is made from.
func (p *Pool[C]) connection(f *found, b *bounds) connection {
	return connection{
		name: f.name, spec: f.raw, credentials: f.credentials, secret: f.secret, limiter: b,
		http: &http.Client{Timeout: p.options.timeout, Transport: b.transport(p.options.transport)},
	}
}

// forget closes the client of a configuration that is gone.
func (p *Pool[C]) forget(key configKey) { p.clients.Forget(key) }

// run closes clients that are not used, and with the manager all of them.
func (p *Pool[C]) run(ctx context.Context) error { return p.clients.Run(ctx) }
