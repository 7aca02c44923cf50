// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
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
	for _, o := range access() {
		if err := p.client.Create(ctx, o); err != nil {
			return err
		}
	}
	return do(p)
}

// access is what a platform team creates: a ProviderConfig, and the Secret with its credentials. The bench deletes more items at once
// than people do by intent, so it has no limit of deletions.
func access() []client.Object {
	config := &shop.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	config.Spec.Credentials = xpv1.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret, SecretRef: &xpv1.SecretKeySelector{Namespace: namespace, Name: "credentials", Key: "key"},
	}
	config.Spec.Limits = &xpv1.CallLimits{DeletionsPerMinute: new(int32(0))}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "credentials"}, Data: map[string][]byte{"key": []byte(memvendor.APIKey)}},
		config,
	}
}
