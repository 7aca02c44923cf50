// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// SetConditions sets conditions of the subnet.
func (s *Subnet) SetConditions(c ...xpv1.Condition) { s.Status.SetConditions(c...) }

// GetCondition returns a condition of the subnet.
func (s *Subnet) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	return s.Status.GetCondition(ct)
}

// SetManagementPolicies satisfies resource.Manageable.
func (s *Subnet) SetManagementPolicies(p xpv1.ManagementPolicies) {
	s.Spec.ManagementPolicies = p
}

// GetManagementPolicies satisfies resource.Manageable.
func (s *Subnet) GetManagementPolicies() xpv1.ManagementPolicies {
	return s.Spec.ManagementPolicies
}

// SetProviderConfigReference sets which ProviderConfig the subnet uses.
func (s *Subnet) SetProviderConfigReference(ref *xpv1.ProviderConfigReference) {
	s.Spec.ProviderConfigReference = ref
}

// GetProviderConfigReference returns which ProviderConfig the subnet uses.
func (s *Subnet) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return s.Spec.ProviderConfigReference
}

// SetWriteConnectionSecretToReference sets where connection details go.
func (s *Subnet) SetWriteConnectionSecretToReference(ref *xpv1.SecretReference) {
	s.Spec.WriteConnectionSecretToReference = ref
}

// GetWriteConnectionSecretToReference returns where connection details go.
func (s *Subnet) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return s.Spec.WriteConnectionSecretToReference
}

// SetDeletionPolicy sets what becomes of the external subnet on deletion.
func (s *Subnet) SetDeletionPolicy(p xpv1.DeletionPolicy) { s.Spec.DeletionPolicy = p }

// GetDeletionPolicy returns what becomes of the external subnet on deletion.
func (s *Subnet) GetDeletionPolicy() xpv1.DeletionPolicy { return s.Spec.DeletionPolicy }

// SetDrift satisfies resource.Drifting.
func (s *Subnet) SetDrift(d []xpv1.FieldDifference) { s.Status.Drift = d }

// GetDrift satisfies resource.Drifting.
func (s *Subnet) GetDrift() []xpv1.FieldDifference { return s.Status.Drift }

// SetSecretInputs satisfies resource.SecretInputRecorder.
func (s *Subnet) SetSecretInputs(i []xpv1.SecretInput) { s.Status.SecretInputs = i }

// GetSecretInputs satisfies resource.SecretInputRecorder.
func (s *Subnet) GetSecretInputs() []xpv1.SecretInput { return s.Status.SecretInputs }

// SetBindingPhase satisfies resource.Bindable.
func (s *Subnet) SetBindingPhase(p xpv1.BindingPhase) { s.Status.BindingPhase = p }

// GetBindingPhase satisfies resource.Bindable.
func (s *Subnet) GetBindingPhase() xpv1.BindingPhase { return s.Status.BindingPhase }
