// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"context"

	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClient returns a client that reads Managed objects as plain unstructured ones, so that they can come from a cache.
func NewClient(c client.Client) client.Client { return unwrapper{c} }

type unwrapper struct{ client.Client }

// Get satisfies client.Reader.
func (u unwrapper) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if wrapper, ok := obj.(interface{ GetUnstructured() *kube.Unstructured }); ok {
		obj = wrapper.GetUnstructured()
	}
	return u.Client.Get(ctx, key, obj, opts...)
}
