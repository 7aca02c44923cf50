// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/test/bench/memvendor"
)

// namespace of the Secrets.
const namespace = "bench"

// A plane is a fresh API server with the bench's kind.
type plane struct {
	dir    string
	server *process.APIServer
	client client.Client // of the administrator, without a cache
}

// withPlane starts an API server, calls do, and removes it.
func (b *bench) withPlane(ctx context.Context, do func(*plane) error) (err error) {
	p := &plane{}
	if p.dir, err = os.MkdirTemp(b.dir, "plane-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	if p.server, err = process.StartAPIServer(ctx, b.bowline, p.dir, b.failed, shop.CRDs()...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.server.Stop()) }()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), shop.AddToScheme(scheme)); err != nil {
		return err
	}
	if p.client, err = client.New(p.server.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, o := range memvendor.Access(namespace) {
		if err := p.client.Create(ctx, o); err != nil {
			return err
		}
	}
	return do(p)
}
