// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"expvar"
	"io/fs"
	"sync"
	"testing/fstest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A vendor holds items in the process of the controllers. Unlike the vendor of the test kit it remembers no calls, whose memory would
// be measured too. It seems to survive its process: items that an earlier process created exist.
type vendor struct {
	latency time.Duration // of each call
	calls   expvar.Map

	mu    sync.Mutex
	sizes map[string]int64 // by external name; 0 once it is deleted
}

// provider returns the provider of items, of which it reconciles that many at once.
func (v *vendor) provider(workers int) provider.Provider {
	kind := provider.Kind{
		Object: &shop.Item{}, Concurrency: workers, Options: []managed.ReconcilerOption{managed.WithTypedExternalConnecter(v)},
	}
	return provider.Provider{Name: "bench", CRDs: definitionFiles(), AddToScheme: shop.AddToScheme, Kinds: []provider.Kind{kind}}
}

// definition of Item. Items need no provider configuration here, whose protection would be measured too.
func definition() *apiextensionsv1.CustomResourceDefinition {
	for _, d := range shop.CRDs() {
		if d.Spec.Names.Kind == shop.ItemKind {
			d.Labels = nil
			return d
		}
	}
	panic("the shop sells no items")
}

func definitionFiles() fs.FS {
	data, err := yaml.Marshal(definition())
	if err != nil {
		panic(err) // a definition is plain data
	}
	return fstest.MapFS{"items.yaml": &fstest.MapFile{Data: data}}
}

// Connect satisfies managed.TypedExternalConnecter: one client serves all passes.
func (v *vendor) Connect(context.Context, *shop.Item) (managed.TypedExternalClient[*shop.Item], error) {
	return v, nil
}

// call calls do after the latency.
func (v *vendor) call(ctx context.Context, verb string, do func()) error {
	v.calls.Add(verb, 1)
	if v.latency > 0 {
		if err := sleep(ctx, v.latency); err != nil {
			return err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	do()
	return nil
}

func (v *vendor) Observe(ctx context.Context, s *shop.Item) (o managed.ExternalObservation, err error) {
	name := meta.GetExternalName(s)
	err = v.call(ctx, "observe", func() {
		size, known := v.sizes[name]
		if !known && !meta.GetExternalCreateSucceeded(s).IsZero() { // by an earlier process
			size = s.Status.AtProvider.Size
			v.sizes[name] = size
		}
		if size == 0 {
			return
		}
		s.Status.AtProvider = shop.ItemObservation{Size: size, Shelf: address(name)}
		s.SetConditions(xpv1.Available())
		o = managed.ExternalObservation{
			ResourceExists: true, ResourceUpToDate: size == *s.Spec.ForProvider.Size, Owner: new(s.GetUID()),
			ConnectionDetails: managed.ConnectionDetails{xpv1.ResourceCredentialsSecretEndpointKey: []byte(address(name))},
		}
	})
	return o, err
}

func (v *vendor) Create(ctx context.Context, s *shop.Item) (managed.ExternalCreation, error) {
	name := meta.GetExternalName(s)
	return managed.ExternalCreation{ConnectionDetails: details(name)}, v.call(ctx, "create", func() { v.sizes[name] = *s.Spec.ForProvider.Size })
}

func (v *vendor) Update(ctx context.Context, s *shop.Item) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, v.call(ctx, "update", func() { v.sizes[meta.GetExternalName(s)] = *s.Spec.ForProvider.Size })
}

func (v *vendor) Delete(ctx context.Context, s *shop.Item) error {
	return v.call(ctx, "delete", func() { v.sizes[meta.GetExternalName(s)] = 0 })
}

// details is the content of the connection Secret of an item.
func details(name string) managed.ConnectionDetails {
	return managed.ConnectionDetails{
		xpv1.ResourceCredentialsSecretEndpointKey: []byte(address(name)),
		xpv1.ResourceCredentialsSecretPortKey:     []byte("5432"),
		xpv1.ResourceCredentialsSecretUserKey:     []byte("admin"),
		xpv1.ResourceCredentialsSecretPasswordKey: []byte("correct-horse-battery-staple-" + name),
	}
}

func address(name string) string { return name + ".items.bench.example.org" }
