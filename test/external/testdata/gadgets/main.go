// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command gadgets is a provider in a module of its own.
package main

import (
	"context"
	"embed"
	"sync"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

//go:embed *.yaml
var crds embed.FS

func main() {
	provider.Main(provider.Provider{
		Name:        "gadgets",
		CRDs:        crds,
		AddToScheme: addToScheme,
		Configs:     []resource.ProviderConfig{&ProviderConfig{}},
		Kinds:       []provider.Kind{provider.KindOf(&Gadget{}, stores, newGadgetClient)},
	})
}

// store is the external system.
type store struct {
	mu    sync.Mutex
	sizes map[string]int
}

var stores = &clients.Factory[xpv1.ProviderSpec, *store]{
	New: func(context.Context, clients.Connection[xpv1.ProviderSpec]) (*store, error) {
		return &store{sizes: map[string]int{}}, nil
	},
}

type gadgetClient struct{ *clients.Lease[*store] }

func newGadgetClient(l *clients.Lease[*store]) managed.TypedExternalClient[*Gadget] {
	return gadgetClient{l}
}

func (c gadgetClient) Observe(_ context.Context, g *Gadget) (managed.ExternalObservation, error) {
	c.Client.mu.Lock()
	defer c.Client.mu.Unlock()
	size, ok := c.Client.sizes[meta.GetExternalName(g)]
	g.SetConditions(xpv1.Available())
	return managed.ExternalObservation{ResourceExists: ok, ResourceUpToDate: size == g.Spec.ForProvider.Size}, nil
}

func (c gadgetClient) Create(_ context.Context, g *Gadget) (managed.ExternalCreation, error) {
	c.put(g)
	return managed.ExternalCreation{}, nil
}

func (c gadgetClient) Update(_ context.Context, g *Gadget) (managed.ExternalUpdate, error) {
	c.put(g)
	return managed.ExternalUpdate{}, nil
}

func (c gadgetClient) put(g *Gadget) {
	c.Client.mu.Lock()
	defer c.Client.mu.Unlock()
	c.Client.sizes[meta.GetExternalName(g)] = g.Spec.ForProvider.Size
}

func (c gadgetClient) Delete(_ context.Context, g *Gadget) error {
	c.Client.mu.Lock()
	defer c.Client.mu.Unlock()
	delete(c.Client.sizes, meta.GetExternalName(g))
	return nil
}
