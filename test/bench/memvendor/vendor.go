// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memvendor is the bench's provider: its vendor is in memory, and its kinds are those of package shop.
package memvendor

import (
	"context"
	"errors"
	"expvar"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/internal/testkit/shop/crds"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// The connection to every item.
const (
	APIKey   = "open sesame" // in the Secret of the ProviderConfig
	Port     = 5432
	Username = "admin"
	Colour   = "green" // of all items
	Refused  = "red"   // the colour of the items that the vendor does not sell
)

// A Vendor holds items in the process of the controllers. Unlike the vendor of the test kit it remembers no calls, whose memory would
// be measured too. It seems to survive its process: items that an earlier process created exist.
type Vendor struct {
	latency time.Duration // of each call
	Calls   expvar.Map    // by verb

	mu    sync.Mutex
	sizes map[string]int64 // by external name; 0 once it is deleted
}

// New returns a vendor whose calls take that long.
func New(latency time.Duration) *Vendor {
	return &Vendor{latency: latency, sizes: map[string]int64{}}
}

// item is the vendor's answer.
type item struct {
	Size     int64
	Colour   string
	Shelf    string
	Labels   map[string]string
	Endpoint string `connection:"endpoint"`
	Port     int    `connection:"port"`
	Username string `connection:"username"`
	Password string `connection:"password"` // in the answer to Create only
}

type itemRequest = kind.Request[shop.ItemParameters, item]

var (
	errNotFound = errors.New("there is no such item")
	errKey      = errors.New("the API key is wrong")
	errRefused  = errors.New("there are no items of this colour")
)

// Provider returns a provider as authors write it: four functions, and credentials in a Secret of a ProviderConfig. It reconciles
// that many items at once.
func (v *Vendor) Provider(workers int) provider.Provider {
	system := kind.System[*Vendor]{
		Clients: &clients.Factory[shop.ProviderConfigSpec, *Vendor]{
			New: func(_ context.Context, c clients.Connection[shop.ProviderConfigSpec]) (*Vendor, error) {
				if string(c.Credentials) != APIKey {
					return nil, errKey
				}
				return v, nil
			},
		},
		IsNotFound: func(err error) bool { return errors.Is(err, errNotFound) },
		Refused:    func(err error) bool { return errors.Is(err, errRefused) },
	}
	kinds := kind.Serve(system, items(), &shop.Item{})
	for i := range kinds {
		kinds[i].Concurrency = workers
	}
	return provider.Provider{
		Name: "bench", CRDs: crds.FS, AddToScheme: shop.AddToScheme, Configs: []resource.ProviderConfig{&shop.ProviderConfig{}}, Kinds: kinds,
	}
}

func items() kind.Kind[*Vendor, shop.ItemParameters, shop.ItemObservation, item] {
	return kind.Kind[*Vendor, shop.ItemParameters, shop.ItemObservation, item]{
		Identity: kind.ByToken,
		Get:      func(ctx context.Context, v *Vendor, r *itemRequest) (*item, error) { return v.get(ctx, r) },
		Create:   func(ctx context.Context, v *Vendor, r *itemRequest) (*item, error) { return v.create(ctx, r) },
		Update: func(ctx context.Context, v *Vendor, r *itemRequest) error {
			return v.call(ctx, "update", func() { v.sizes[r.Name] = r.Want.Size })
		},
		Delete: func(ctx context.Context, v *Vendor, r *itemRequest) error {
			return v.call(ctx, "delete", func() { v.sizes[r.Name] = 0 })
		},
	}
}

// call calls do after the latency.
func (v *Vendor) call(ctx context.Context, verb string, do func()) error {
	v.Calls.Add(verb, 1)
	if v.latency > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(v.latency):
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	do()
	return nil
}

func (v *Vendor) get(ctx context.Context, r *itemRequest) (*item, error) {
	var size int64
	err := v.call(ctx, "observe", func() {
		var known bool
		if size, known = v.sizes[r.Name]; !known && !meta.GetExternalCreateSucceeded(r.Object).IsZero() { // by an earlier process
			size = r.Object.(*shop.Item).Status.AtProvider.Size
			v.sizes[r.Name] = size
		}
	})
	switch {
	case err != nil:
		return nil, err
	case size == 0:
		return nil, errNotFound
	}
	labels := meta.GetExternalLabels(r.Object, shop.ItemGroupVersionKind.GroupKind(), resource.ProviderConfigName(r.Object))
	return answer(r.Name, size, labels), nil
}

func (v *Vendor) create(ctx context.Context, r *itemRequest) (*item, error) {
	if r.Want.Colour == Refused {
		return nil, errors.Join(v.call(ctx, "refuse", func() {}), errRefused)
	}
	err := v.call(ctx, "create", func() { v.sizes[r.Name] = r.Want.Size })
	created := answer(r.Name, r.Want.Size, r.Labels)
	created.Password = Password(r.Name)
	return created, err
}

func answer(name string, size int64, labels map[string]string) *item {
	return &item{
		Size: size, Colour: Colour, Shelf: Address(name), Labels: labels, Endpoint: Address(name), Port: Port, Username: Username,
	}
}

// Password of an item.
func Password(name string) string { return "correct-horse-battery-staple-" + name }

// Address of an item.
func Address(name string) string { return name + ".items.bench.example.org" }
