// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"context"

	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Managed is a managed resource of any kind. Spec and status must have the fields of ResourceSpec or NamespacedResourceSpec, and
// of ResourceStatus, of package apis/common/v1. A field of another type reads as unset; a policy of another type reads as the
// most restrictive one.
type Managed struct {
	kube.Unstructured
}

var (
	_ resource.Managed                  = &Managed{}
	_ resource.ConnectionSecretWriterTo = &Managed{}
	_ resource.ProviderConfigReferencer = &Managed{}
	_ resource.Orphanable               = &Managed{}
	_ resource.Reclaimer                = &Managed{}
	_ resource.Bindable                 = &Managed{}
	_ resource.ClaimReferencer          = &Managed{}
	_ resource.ClassReferencer          = &Managed{}
	_ resource.Drifting                 = &Managed{}
	_ resource.SecretInputRecorder      = &Managed{}
	_ runtime.Unstructured              = &Managed{}
)

// New returns an empty managed resource of the kind.
func New(of schema.GroupVersionKind) *Managed {
	mg := &Managed{}
	mg.SetGroupVersionKind(of)
	return mg
}

// Wrap returns the object as a managed resource, which shares the object's content.
func Wrap(o *kube.Unstructured) *Managed { return &Managed{Unstructured: *o} }

// GetUnstructured returns the object itself, for code that requires that type, such as caches.
func (m *Managed) GetUnstructured() *kube.Unstructured { return &m.Unstructured }

// UnstructuredContent returns a copy of the content, which does not change with the object. SetUnstructuredContent changes the
// object.
func (m *Managed) UnstructuredContent() map[string]any {
	return runtime.DeepCopyJSON(m.Unstructured.UnstructuredContent())
}

// NewEmptyInstance returns an empty object of the same kind.
func (m *Managed) NewEmptyInstance() runtime.Unstructured { return New(m.GroupVersionKind()) }

// DeepCopy returns a copy that shares nothing with the object.
func (m *Managed) DeepCopy() *Managed {
	if m == nil {
		return nil
	}
	return &Managed{Unstructured: *m.Unstructured.DeepCopy()}
}

// DeepCopyObject implements runtime.Object.
func (m *Managed) DeepCopyObject() runtime.Object {
	if m == nil {
		return nil
	}
	return m.DeepCopy()
}

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
