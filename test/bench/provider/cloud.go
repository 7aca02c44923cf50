// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider is a provider for measurements: its external system lives in the process of the controllers and takes
// exactly as long as it is told to, so that what is measured is the runtime and the API server.
//
//	cloud := provider.NewCloud(5 * time.Millisecond)
//	err := provider.Provider(cloud, 10).SetupWithManager(mgr)
package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	v1 "github.com/bowline-dev/bowline/test/bench/apis/v1"
	"github.com/bowline-dev/bowline/test/bench/count"
)

// A Cloud holds servers by their external names. It is ready at the first look and counts the calls to it. It outlives its
// process as far as the controllers can see: what an object says was created before is there.
type Cloud struct {
	// Calls counts observe, create, update and delete.
	Calls *count.Counter

	latency time.Duration

	mu      sync.Mutex
	servers map[string]server
}

type server struct {
	size    int
	owner   types.UID
	deleted bool
}

// NewCloud returns a cloud without servers. Each call to it takes the given time.
func NewCloud(latency time.Duration) *Cloud {
	return &Cloud{Calls: count.New(), latency: latency, servers: map[string]server{}}
}

// call does some work as if it were far away.
func (c *Cloud) call(ctx context.Context, name string, work func()) error {
	c.Calls.Add(name)
	if c.latency > 0 {
		select {
		case <-time.After(c.latency):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	work()
	return nil
}

// Connect satisfies managed.TypedExternalConnecter: one client serves all passes.
func (c *Cloud) Connect(context.Context, *v1.Server) (managed.TypedExternalClient[*v1.Server], error) {
	return client{c}, nil
}

type client struct{ cloud *Cloud }

func (c client) Observe(ctx context.Context, s *v1.Server) (o managed.ExternalObservation, err error) {
	name := meta.GetExternalName(s)
	err = c.cloud.call(ctx, "observe", func() {
		have, known := c.cloud.servers[name]
		if !known && !meta.GetExternalCreateSucceeded(s).IsZero() { // by an earlier process
			have, known = server{size: s.Status.AtProvider.Size, owner: s.GetUID()}, true
			c.cloud.servers[name] = have
		}
		if !known || have.deleted {
			return
		}
		s.Status.AtProvider = v1.ServerObservation{Size: have.size, Address: address(name)}
		s.SetConditions(xpv1.Available())
		o = managed.ExternalObservation{
			ResourceExists:    true,
			ResourceUpToDate:  have.size == s.Spec.ForProvider.Size,
			Owner:             &have.owner,
			ConnectionDetails: managed.ConnectionDetails{xpv1.ResourceCredentialsSecretEndpointKey: []byte(address(name))},
		}
	})
	return o, err
}

func (c client) Create(ctx context.Context, s *v1.Server) (managed.ExternalCreation, error) {
	name := meta.GetExternalName(s)
	err := c.cloud.call(ctx, "create", func() {
		c.cloud.servers[name] = server{size: s.Spec.ForProvider.Size, owner: s.GetUID()}
	})
	return managed.ExternalCreation{ConnectionDetails: Details(name)}, err
}

func (c client) Update(ctx context.Context, s *v1.Server) (managed.ExternalUpdate, error) {
	name := meta.GetExternalName(s)
	return managed.ExternalUpdate{}, c.cloud.call(ctx, "update", func() {
		have := c.cloud.servers[name]
		have.size = s.Spec.ForProvider.Size
		c.cloud.servers[name] = have
	})
}

func (c client) Delete(ctx context.Context, s *v1.Server) error {
	return c.cloud.call(ctx, "delete", func() { c.cloud.servers[meta.GetExternalName(s)] = server{deleted: true} })
}

// Details are what the connection secret of a server holds.
func Details(name string) managed.ConnectionDetails {
	return managed.ConnectionDetails{
		xpv1.ResourceCredentialsSecretEndpointKey: []byte(address(name)),
		xpv1.ResourceCredentialsSecretPortKey:     []byte("5432"),
		xpv1.ResourceCredentialsSecretUserKey:     []byte("admin"),
		xpv1.ResourceCredentialsSecretPasswordKey: []byte("correct-horse-battery-staple-" + name),
	}
}

func address(name string) string { return fmt.Sprintf("%s.servers.bench.example.org", name) }
