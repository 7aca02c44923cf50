// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A ProviderConfig is a provider configuration of any kind. Its spec must have the fields of ProviderSpec, its status those of
// ProviderConfigStatus, of package apis/common/v1. A field of another type reads as unset.
type ProviderConfig struct {
	kube.Unstructured
}

var _ interface {
	resource.ProviderConfig
	resource.DeletionPauser
	runtime.Unstructured
} = &ProviderConfig{}

// NewProviderConfig returns an empty provider configuration of the kind.
func NewProviderConfig(of schema.GroupVersionKind) *ProviderConfig {
	c := &ProviderConfig{}
	c.SetGroupVersionKind(of)
	return c
}

// GetUnstructured returns the object itself, for code that requires that type, such as caches.
func (c *ProviderConfig) GetUnstructured() *kube.Unstructured { return &c.Unstructured }

// UnstructuredContent returns a copy of the content, which does not change with the object.
func (c *ProviderConfig) UnstructuredContent() map[string]any {
	return runtime.DeepCopyJSON(c.Unstructured.UnstructuredContent())
}

// NewEmptyInstance returns an empty object of the same kind.
func (c *ProviderConfig) NewEmptyInstance() runtime.Unstructured {
	return NewProviderConfig(c.GroupVersionKind())
}

// DeepCopy returns a copy that shares nothing with the object.
func (c *ProviderConfig) DeepCopy() *ProviderConfig {
	if c == nil {
		return nil
	}
	return &ProviderConfig{Unstructured: *c.Unstructured.DeepCopy()}
}

// DeepCopyObject implements runtime.Object.
func (c *ProviderConfig) DeepCopyObject() runtime.Object {
	if c == nil {
		return nil
	}
	return c.DeepCopy()
}

func (c *ProviderConfig) SetConditions(to ...xpv1.Condition) { setConditions(c, to) }
func (c *ProviderConfig) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	return conditionsOf(c).GetCondition(ct)
}

func (c *ProviderConfig) SetUsers(n int64) { write(c, "status.users", n) }
func (c *ProviderConfig) GetUsers() int64  { return read[int64](c, "status.users", 0) }

func (c *ProviderConfig) SetPausedDeletions(p []xpv1.PausedNamespace) {
	write(c, "status.pausedDeletions", filled(p))
}

func (c *ProviderConfig) GetPausedDeletions() []xpv1.PausedNamespace {
	return read[[]xpv1.PausedNamespace](c, "status.pausedDeletions", nil)
}
