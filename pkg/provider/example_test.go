// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A session is what the vendor's SDK calls a client.
type session struct{ endpoint, key string }

// itemClient is the external client of one pass; the methods of managed.TypedExternalClient that are not here are the
// author's work.
type itemClient struct {
	*clients.Lease[*session]
	managed.TypedExternalClient[*kinds.Item]
}

func newItemClient(l *clients.Lease[*session]) managed.TypedExternalClient[*kinds.Item] {
	return itemClient{Lease: l}
}

// A complete provider. A program that runs it is: provider.Main(p).
func Example() {
	sessions := &clients.Factory[kinds.ConfigSpec, *session]{
		New: func(_ context.Context, c clients.Connection[kinds.ConfigSpec]) (*session, error) {
			return &session{endpoint: c.Settings.Endpoint, key: string(c.Credentials)}, nil
		},
	}
	p := provider.Provider{
		Name:        "depot",
		CRDs:        depotCRDs(nil),
		AddToScheme: depotKinds().AddToScheme,
		Configs:     []resource.ProviderConfig{&kinds.ProviderConfig{}},
		Kinds:       []provider.Kind{provider.KindOf(&kinds.Item{}, sessions, newItemClient, managed.WithVendorNames())},
	}
	fmt.Println(p.Validate())
	// Output: <nil>
}
