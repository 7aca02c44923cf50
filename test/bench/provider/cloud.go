// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider is a provider for measurements: its external system is in the process of the controllers and has a fixed
// latency, so that the runtime and the API server are measured.
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
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/test/bench/count"
)

// A Cloud holds items by their external names. Items are ready at once. It counts the calls to it, and seems to survive its process:
// items that an earlier process created exist.
type Cloud struct {
	// Calls counts observe, create, update and delete.
	Calls *count.Counter

	latency time.Duration

	mu    sync.Mutex
	items map[string]item
}

type item struct {
	size    int64
	owner   types.UID
	deleted bool
}

// NewCloud returns a cloud without items. Each call to it takes the latency.
func NewCloud(latency time.Duration) *Cloud {
	return &Cloud{Calls: count.New(), latency: latency, items: map[string]item{}}
}

// call does some work after the latency.
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
func (c *Cloud) Connect(context.Context, *shop.Item) (managed.TypedExternalClient[*shop.Item], error) {
	return client{c}, nil
}

type client struct{ cloud *Cloud }

func (c client) Observe(ctx context.Context, s *shop.Item) (o managed.ExternalObservation, err error) {
	name := meta.GetExternalName(s)
	err = c.cloud.call(ctx, "observe", func() {
		have, known := c.cloud.items[name]
		if !known && !meta.GetExternalCreateSucceeded(s).IsZero() { // by an earlier process
			have, known = item{size: s.Status.AtProvider.Size, owner: s.GetUID()}, true
			c.cloud.items[name] = have
		}
		if !known || have.deleted {
			return
		}
		s.Status.AtProvider = shop.ItemObservation{Size: have.size, Shelf: address(name)}
		s.SetConditions(xpv1.Available())
		o = managed.ExternalObservation{
			ResourceExists:    true,
			ResourceUpToDate:  have.size == *s.Spec.ForProvider.Size,
			Owner:             &have.owner,
			ConnectionDetails: managed.ConnectionDetails{xpv1.ResourceCredentialsSecretEndpointKey: []byte(address(name))},
		}
	})
	return o, err
}

func (c client) Create(ctx context.Context, s *shop.Item) (managed.ExternalCreation, error) {
	name := meta.GetExternalName(s)
	err := c.cloud.call(ctx, "create", func() {
		c.cloud.items[name] = item{size: *s.Spec.ForProvider.Size, owner: s.GetUID()}
	})
	return managed.ExternalCreation{ConnectionDetails: Details(name)}, err
}

func (c client) Update(ctx context.Context, s *shop.Item) (managed.ExternalUpdate, error) {
	name := meta.GetExternalName(s)
	return managed.ExternalUpdate{}, c.cloud.call(ctx, "update", func() {
		have := c.cloud.items[name]
		have.size = *s.Spec.ForProvider.Size
		c.cloud.items[name] = have
	})
}

func (c client) Delete(ctx context.Context, s *shop.Item) error {
	return c.cloud.call(ctx, "delete", func() { c.cloud.items[meta.GetExternalName(s)] = item{deleted: true} })
}

// Details returns the content of the connection Secret of an item.
func Details(name string) managed.ConnectionDetails {
	return managed.ConnectionDetails{
		xpv1.ResourceCredentialsSecretEndpointKey: []byte(address(name)),
		xpv1.ResourceCredentialsSecretPortKey:     []byte("5432"),
		xpv1.ResourceCredentialsSecretUserKey:     []byte("admin"),
		xpv1.ResourceCredentialsSecretPasswordKey: []byte("correct-horse-battery-staple-" + name),
	}
}

func address(name string) string { return fmt.Sprintf("%s.items.bench.example.org", name) }
