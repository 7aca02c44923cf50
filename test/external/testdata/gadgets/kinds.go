// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

var groupVersion = schema.GroupVersion{Group: "gadgets.example.org", Version: "v1"}

func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(groupVersion, &Gadget{}, &GadgetList{}, &ProviderConfig{}, &ProviderConfigList{})
	metav1.AddToGroupVersion(s, groupVersion)
	return corev1.AddToScheme(s)
}

// A Gadget has a size.
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		xpv1.ResourceSpec `json:",inline"`

		ForProvider struct {
			Size int `json:"size,omitempty"`
		} `json:"forProvider"`
	} `json:"spec"`
	Status xpv1.ResourceStatus `json:"status,omitempty"`
}

// SetConditions satisfies resource.Conditioned.
func (g *Gadget) SetConditions(c ...xpv1.Condition) { g.Status.SetConditions(c...) }

// GetCondition satisfies resource.Conditioned.
func (g *Gadget) GetCondition(t xpv1.ConditionType) xpv1.Condition { return g.Status.GetCondition(t) }

// SetManagementPolicies satisfies resource.Manageable.
func (g *Gadget) SetManagementPolicies(p xpv1.ManagementPolicies) { g.Spec.ManagementPolicies = p }

// GetManagementPolicies satisfies resource.Manageable.
func (g *Gadget) GetManagementPolicies() xpv1.ManagementPolicies { return g.Spec.ManagementPolicies }

// DeepCopyObject copies the object.
func (g *Gadget) DeepCopyObject() runtime.Object {
	out := *g
	out.ObjectMeta = *g.ObjectMeta.DeepCopy()
	out.Spec.ResourceSpec = *g.Spec.ResourceSpec.DeepCopy()
	out.Status = *g.Status.DeepCopy()
	return &out
}

// A ProviderConfig needs no settings.
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   xpv1.ProviderSpec         `json:"spec"`
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}

// SetConditions satisfies resource.Conditioned.
func (c *ProviderConfig) SetConditions(conditions ...xpv1.Condition) {
	c.Status.SetConditions(conditions...)
}

// GetCondition satisfies resource.Conditioned.
func (c *ProviderConfig) GetCondition(t xpv1.ConditionType) xpv1.Condition {
	return c.Status.GetCondition(t)
}

// SetUsers satisfies resource.UserCounter.
func (c *ProviderConfig) SetUsers(n int64) { c.Status.Users = n }

// GetUsers satisfies resource.UserCounter.
func (c *ProviderConfig) GetUsers() int64 { return c.Status.Users }

// DeepCopyObject copies the object.
func (c *ProviderConfig) DeepCopyObject() runtime.Object {
	out := *c
	out.ObjectMeta = *c.ObjectMeta.DeepCopy()
	out.Spec = *c.Spec.DeepCopy()
	out.Status = *c.Status.DeepCopy()
	return &out
}

// GadgetList contains a list of Gadget.
type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gadget `json:"items"`
}

// DeepCopyObject copies the list.
func (l *GadgetList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = slices.Clone(l.Items)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Gadget)
	}
	return &out
}

// ProviderConfigList contains a list of ProviderConfig.
type ProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ProviderConfig `json:"items"`
}

// DeepCopyObject copies the list.
func (l *ProviderConfigList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = slices.Clone(l.Items)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*ProviderConfig)
	}
	return &out
}
