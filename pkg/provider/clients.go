// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/provider/internal/leases"
)

const (
	defaultTimeout = 10 * time.Second
	defaultIdle    = 10 * time.Minute
)

// Clients say how a client of one external system is made. S is the spec of the provider configurations, or a part of it,
// as its JSON reads; C is the client's type. A value of it is a declaration: share one between all kinds. What is made is
// kept by each manager on its own, see In.
type Clients[S, C any] struct {
	// New makes the client of a configuration. It is called once for all users of a configuration, and again when the
	// configuration or its credentials change. Its context bounds the making, not the client's life. An error is given to
	// everybody who asks within a second, then New is tried again. It must not hold secrets.
	New func(ctx context.Context, c Connection[S]) (C, error)

	// Close frees a client that no pass uses any more. Default: nothing.
	Close func(C)

	// Timeout bounds each HTTP request, answer included. Default: 10 seconds.
	Timeout time.Duration

	// Idle is for how long a client is kept that nobody uses. Default: 10 minutes.
	Idle time.Duration

	// Wrap puts a transport of yours, for example one that counts, around the one that all clients share. It sees the
	// requests that are really made, after the limits. Default: nothing.
	Wrap func(http.RoundTripper) http.RoundTripper

	// ForbiddenIsRefusal makes an HTTP answer 403 speak of the credentials, as 401 does: for systems that say so to a key
	// which they do not know.
	ForbiddenIsRefusal bool
}

// A Connection is what a client is made from.
type Connection[S any] struct {
	// Name is how messages call the configuration, for example ProviderConfig "default".
	Name string

	// Settings are the configuration's spec.
	Settings S

	// Credentials are what spec.credentials names; nil where it names none, or a Secret without a key.
	Credentials []byte

	// Secret holds all keys of the Secret that spec.credentials names, so that the connection secret of a managed resource
	// can serve as credentials. Nil for credentials of another source.
	Secret map[string][]byte

	// HTTPClient keeps the limits of the configuration, leaves alone a system that refuses the credentials or does not
	// answer, and shares its connections with all clients of the provider.
	HTTPClient *http.Client

	// Limiter does for clients that do not speak HTTP what HTTPClient does: each call has to go through its Do.
	Limiter Limiter
}

// A Limiter makes calls when they may be made, as limits.Limiter does.
type Limiter interface {
	// Do makes the call, or says why it may not be made now. See limits.ErrSlowDown and limits.ErrRefused for what a call
	// may say of the external system.
	Do(ctx context.Context, call func(context.Context) error) error
}

var _ Limiter = &limits.Limiter{}

// A Lease is a client that one pass uses. An external client that embeds it returns it when the pass is over, lets the
// configuration choose how often to look, and keeps its credentials out of what is said of errors (managed.Disconnecter,
// managed.PollIntervalChooser, managed.SecretKeeper).
type Lease[C any] struct {
	// Client of the external system. Others use it at the same time.
	Client C

	poll    time.Duration
	secrets [][]byte
	giveUp  func()
}

// PollInterval is how often the configuration wants its users' external resources to be looked at; zero if it does not say.
func (l *Lease[C]) PollInterval() time.Duration { return l.poll }

// SecretValues are the credentials that the client signs in with.
func (l *Lease[C]) SecretValues() [][]byte { return l.secrets }

// Release returns the client, which must not be used any more. Only the first call counts.
func (l *Lease[C]) Release() { l.giveUp() }

// Disconnect is Release as the managed reconciler calls it at the end of a pass.
func (l *Lease[C]) Disconnect(context.Context) error {
	l.giveUp()
	return nil
}

// In returns the clients of one manager. The same Clients give the same ones, so that all kinds of a provider share them.
func (c *Clients[S, C]) In(s *Setup) *Pool[C] {
	if have, ok := s.pools[c]; ok {
		return have.(*Pool[C])
	}
	o := c.options()
	p := &Pool[C]{setup: s, options: o, clients: leases.New[configKey, state](o.idle, c.Close, s.mgr.GetLogger())}
	p.make = func(ctx context.Context, from connection) (client C, err error) {
		made := Connection[S]{
			Name: from.name, Credentials: from.credentials, Secret: from.secret, HTTPClient: from.http, Limiter: from.limiter,
		}
		if err := json.Unmarshal(from.spec, &made.Settings); err != nil {
			return client, fmt.Errorf("reading spec: %w", err)
		}
		return c.New(ctx, made)
	}
	s.add(c, p)
	return p
}

// options of a pool, with defaults.
func (c *Clients[S, C]) options() poolOptions {
	o := poolOptions{timeout: c.Timeout, idle: c.Idle, forbidden: c.ForbiddenIsRefusal, transport: newTransport()}
	if o.timeout <= 0 {
		o.timeout = defaultTimeout
	}
	if o.idle <= 0 {
		o.idle = defaultIdle
	}
	if c.Wrap != nil {
		o.transport = c.Wrap(o.transport)
	}
	return o
}

// newTransport returns a pool of connections for as many calls at once as there are workers of a few kinds.
func newTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 2 * defaultConcurrency
	return t
}
