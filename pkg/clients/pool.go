// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
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
	clients   *cache[C]

	renewing sync.Mutex // held from reading a ProviderConfig until its client is replaced
}

// A Lease is a client in use by one reconcile. An external client that embeds it returns it at the end of the reconcile, uses
// the poll interval of the ProviderConfig, and keeps credentials out of error messages (managed.Disconnecter,
// managed.PollIntervalChooser, managed.SecretKeeper).
type Lease[C any] struct {
	// Client of the external system, shared with other reconciles.
	Client C

	pollInterval time.Duration
	secrets      [][]byte
	release      func()
}

// PollInterval of the external resources that use the ProviderConfig; zero if it sets none.
func (l *Lease[C]) PollInterval() time.Duration { return l.pollInterval }

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

// For returns the client of the ProviderConfig that the object uses (R227 to R229, N2): the same one until the ProviderConfig
// or its credentials change. Errors are classified by package failure, as ProviderConfigUnavailable unless Factory.New
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
		err = failure.Redact(fmt.Errorf("cannot create client of %s: %w", config.name, err), config.secretValues()...)
		return nil, failure.Default(failure.ProviderConfigUnavailable, err)
	}
	release := sync.OnceFunc(func() { p.clients.release(shared) })
	return &Lease[C]{Client: client, pollInterval: config.pollInterval(), secrets: config.secretValues(), release: release}, nil
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

func (p *Pool[C]) forget(key limits.Key) { p.clients.forget(key) }

func (p *Pool[C]) stop() { p.clients.stop() }
