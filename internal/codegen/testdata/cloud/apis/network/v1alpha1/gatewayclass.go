// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A GatewayClassSpecTemplate says how gateways are made. It is written by hand, as the guides print it.
type GatewayClassSpecTemplate struct {
	xpv1.ClassSpecTemplate `json:",inline"`

	// ForProvider are the settings of the gateways.
	ForProvider GatewayParameters `json:"forProvider"`
}

// A GatewayClass is a template for gateways.
//
// +kubebuilder:object:root=true
// +bowline:claims=GatewayClaim.claims.cloud.example.org
type GatewayClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// SpecTemplate of the gateways.
	SpecTemplate GatewayClassSpecTemplate `json:"specTemplate,omitempty"`
}

// GetReclaimPolicy satisfies resource.Reclaimer. It is written by hand: gateways are kept unless their class says otherwise.
func (c *GatewayClass) GetReclaimPolicy() xpv1.ReclaimPolicy {
	if c.SpecTemplate.ReclaimPolicy == "" {
		return xpv1.ReclaimRetain
	}
	return c.SpecTemplate.ReclaimPolicy
}
