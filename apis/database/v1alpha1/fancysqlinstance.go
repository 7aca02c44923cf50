// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A FancySQLInstanceSpec is what you ask for.
type FancySQLInstanceSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// Version is the version of FancySQL that your application needs, in quotes, for example "2.3". Without
	// it you get the one that the class stands for. If that stands for another one, the claim says so, and nothing is
	// made. It cannot change once there is something behind the claim.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z]([-._0-9A-Za-z]*[0-9A-Za-z])?$`
	Version *string `json:"version,omitempty"`
}

// A FancySQLInstance asks for a FancySQL database of your own: the kind of the guides' examples. Create it in your
// namespace, and name a Secret in writeConnectionSecretToRef: when the claim is ready, that holds endpoint, port, username
// and password. As long as it is not, the condition Ready says what it waits for. What happens to the data when you delete
// it is for the class to say.
//
// +kubebuilder:object:root=true
type FancySQLInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what you ask for. All of it may be left out.
	Spec FancySQLInstanceSpec `json:"spec,omitempty"`

	// Status is how far it is.
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}

// SetBindingPhase sets how far the claim is (K36). It is written out as the guides print it.
func (i *FancySQLInstance) SetBindingPhase(p xpv1.BindingPhase) { i.Status.SetBindingPhase(p) }
