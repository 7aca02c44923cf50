// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A MachineClaimSpec is what is asked for.
type MachineClaimSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// Size that is asked for.
	// +immutable
	// +optional
	Size *string `json:"size,omitempty"`

	// Purpose of the machine, which may change.
	// +optional
	Purpose *string `json:"purpose,omitempty"`

	// Place of the machine.
	// +optional
	Place *MachinePlace `json:"place,omitempty"`
}

// A MachinePlace says where a machine is.
type MachinePlace struct {
	// Zone that it is in.
	// +immutable
	// +optional
	Zone *string `json:"zone,omitempty"`

	// Namespace that it is called in, as an example of a word that rules spell in a way of their own.
	// +immutable
	// +optional
	Namespace *string `json:"namespace,omitempty"`

	// Note on the place, which may change.
	// +optional
	Note *string `json:"note,omitempty"`
}

// A MachineClaim asks for a machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:printcolumn:name="SIZE",type=string,JSONPath=`.spec.size`
type MachineClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MachineClaimSpec         `json:"spec,omitempty"`
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}

// SetBindingPhase satisfies resource.Bindable. It is written by hand: a claim that was released waits for another.
func (c *MachineClaim) SetBindingPhase(p xpv1.BindingPhase) {
	if p == xpv1.BindingPhaseReleased {
		p = xpv1.BindingPhaseUnbound
	}
	c.Status.SetBindingPhase(p)
}
