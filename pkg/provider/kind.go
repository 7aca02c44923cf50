// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"

	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// KindOf returns a kind whose external clients use a client of the external system. external creates the external client of one
// reconcile. It should embed the lease, which is then released at the end and sets the poll interval of the ProviderConfig;
// otherwise it must release the lease in a method Disconnect.
//
//	type bucketClient struct{ *clients.Lease[*sdk.Client] }
//
//	func newBucketClient(l *clients.Lease[*sdk.Client]) managed.TypedExternalClient[*v1.Bucket] { return bucketClient{l} }
func KindOf[T resource.Managed, C any](
	object T, from clients.Source[C], external func(*clients.Lease[C]) managed.TypedExternalClient[T], o ...managed.ReconcilerOption,
) Kind {
	return Kind{
		Object:  object,
		Options: o,
		typed: func(s *Setup) managed.ReconcilerOption {
			return managed.WithTypedExternalConnecter(connecter[T, C]{pool: from.In(s.clients), external: external})
		},
	}
}

// connecter creates the external clients of one kind (A53).
type connecter[T resource.Managed, C any] struct {
	pool     *clients.Pool[C]
	external func(*clients.Lease[C]) managed.TypedExternalClient[T]
}

func (c connecter[T, C]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	lease, err := c.pool.For(ctx, mg)
	if err != nil {
		return nil, err
	}
	return c.external(lease), nil
}
