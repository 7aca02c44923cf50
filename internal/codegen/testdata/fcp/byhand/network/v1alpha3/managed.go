// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// Parameters returns the settings that the network is kept at, to read and to change.
func (n *Network) Parameters() *NetworkParameters { return &n.Spec.ForProvider }

// Observation returns what the favourite cloud last reported, to read and to change.
func (n *Network) Observation() *NetworkObservation { return &n.Status.AtProvider }

// SetConditions sets conditions of the network.
func (n *Network) SetConditions(c ...xpv1.Condition) { n.Status.SetConditions(c...) }

// GetCondition returns a condition of the network.
func (n *Network) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	return n.Status.GetCondition(ct)
}

// SetManagementPolicies satisfies resource.Manageable.
func (n *Network) SetManagementPolicies(p xpv1.ManagementPolicies) {
	n.Spec.ManagementPolicies = p
}

// GetManagementPolicies satisfies resource.Manageable.
func (n *Network) GetManagementPolicies() xpv1.ManagementPolicies {
	return n.Spec.ManagementPolicies
}

// SetProviderConfigReference sets which ProviderConfig the network uses.
func (n *Network) SetProviderConfigReference(ref *xpv1.ProviderConfigReference) {
	n.Spec.ProviderConfigReference = ref
}

// GetProviderConfigReference returns which ProviderConfig the network uses.
func (n *Network) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return n.Spec.ProviderConfigReference
}

// SetWriteConnectionSecretToReference sets where connection details go.
func (n *Network) SetWriteConnectionSecretToReference(ref *xpv1.SecretReference) {
	n.Spec.WriteConnectionSecretToReference = ref
}

// GetWriteConnectionSecretToReference returns where connection details go.
func (n *Network) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return n.Spec.WriteConnectionSecretToReference
}

// SetDeletionPolicy sets what becomes of the external network on deletion.
func (n *Network) SetDeletionPolicy(p xpv1.DeletionPolicy) { n.Spec.DeletionPolicy = p }

// GetDeletionPolicy returns what becomes of the external network on deletion.
func (n *Network) GetDeletionPolicy() xpv1.DeletionPolicy { return n.Spec.DeletionPolicy }

// SetDrift satisfies resource.Drifting.
func (n *Network) SetDrift(d []xpv1.FieldDifference) { n.Status.Drift = d }

// GetDrift satisfies resource.Drifting.
func (n *Network) GetDrift() []xpv1.FieldDifference { return n.Status.Drift }

// SetSecretInputs satisfies resource.SecretInputRecorder.
func (n *Network) SetSecretInputs(s []xpv1.SecretInput) { n.Status.SecretInputs = s }

// GetSecretInputs satisfies resource.SecretInputRecorder.
func (n *Network) GetSecretInputs() []xpv1.SecretInput { return n.Status.SecretInputs }

// SetBindingPhase satisfies resource.Bindable.
func (n *Network) SetBindingPhase(p xpv1.BindingPhase) { n.Status.BindingPhase = p }

// GetBindingPhase satisfies resource.Bindable.
func (n *Network) GetBindingPhase() xpv1.BindingPhase { return n.Status.BindingPhase }

// SetReclaimPolicy satisfies resource.Reclaimer.
func (n *Network) SetReclaimPolicy(p xpv1.ReclaimPolicy) { n.Spec.ReclaimPolicy = p }

// GetReclaimPolicy satisfies resource.Reclaimer.
func (n *Network) GetReclaimPolicy() xpv1.ReclaimPolicy { return n.Spec.ReclaimPolicy }

// SetClaimReference satisfies resource.ClaimReferencer.
func (n *Network) SetClaimReference(ref *corev1.ObjectReference) { n.Spec.ClaimReference = ref }

// GetClaimReference satisfies resource.ClaimReferencer.
func (n *Network) GetClaimReference() *corev1.ObjectReference { return n.Spec.ClaimReference }

// SetClassReference satisfies resource.ClassReferencer.
func (n *Network) SetClassReference(ref *corev1.ObjectReference) { n.Spec.ClassReference = ref }

// GetClassReference satisfies resource.ClassReferencer.
func (n *Network) GetClassReference() *corev1.ObjectReference { return n.Spec.ClassReference }
