// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"context"

	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClient returns a client that reads Managed objects from the given client's cache too, which holds them as plain
// unstructured ones. In all else it is the given client.
func NewClient(c client.Client) client.Client { return unwrapper{c} }

type unwrapper struct{ client.Client }

// Get satisfies client.Reader.
func (u unwrapper) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if wrapper, ok := obj.(interface{ GetUnstructured() *kube.Unstructured }); ok {
		obj = wrapper.GetUnstructured()
	}
	return u.Client.Get(ctx, key, obj, opts...)
}
