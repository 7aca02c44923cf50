// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Source says where the clients of type C come from. *Clients is one.
type Source[C any] interface {
	// In returns the clients of one manager, the same for each Setup.
	In(s *Setup) *Pool[C]
}

// KindOf returns a kind whose external clients work with a client of the external system. external makes the one of a pass
// over an object. If what it returns embeds the lease, the pass returns that at its end and the configuration chooses
// how often to look; otherwise the lease has to be returned by a method Disconnect.
//
//	type bucketClient struct{ *provider.Lease[*sdk.Client] }
//
//	func newBucketClient(l *provider.Lease[*sdk.Client]) managed.TypedExternalClient[*v1.Bucket] { return bucketClient{l} }
func KindOf[T resource.Managed, C any](
	object T, from Source[C], external func(*Lease[C]) managed.TypedExternalClient[T], o ...managed.ReconcilerOption,
) Kind {
	return Kind{
		Object:  object,
		Options: o,
		typed: func(s *Setup) managed.ReconcilerOption {
			return managed.WithTypedExternalConnecter(connecter[T, C]{pool: from.In(s), external: external})
		},
	}
}

// connecter makes the external clients of one kind (A53).
type connecter[T resource.Managed, C any] struct {
	pool     *Pool[C]
	external func(*Lease[C]) managed.TypedExternalClient[T]
}

func (c connecter[T, C]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	lease, err := c.pool.For(ctx, mg)
	if err != nil {
		return nil, err
	}
	return c.external(lease), nil
}
