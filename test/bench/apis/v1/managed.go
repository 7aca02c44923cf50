// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import xpv1 "github.com/bowline-dev/bowline/apis/common/v1"

// SetConditions satisfies resource.Conditioned.
func (s *Server) SetConditions(c ...xpv1.Condition) { s.Status.SetConditions(c...) }

// GetCondition satisfies resource.Conditioned.
func (s *Server) GetCondition(ct xpv1.ConditionType) xpv1.Condition { return s.Status.GetCondition(ct) }

// SetManagementPolicies satisfies resource.Manageable.
func (s *Server) SetManagementPolicies(p xpv1.ManagementPolicies) { s.Spec.ManagementPolicies = p }

// GetManagementPolicies satisfies resource.Manageable.
func (s *Server) GetManagementPolicies() xpv1.ManagementPolicies { return s.Spec.ManagementPolicies }

// SetWriteConnectionSecretToReference satisfies resource.ConnectionSecretWriterTo.
func (s *Server) SetWriteConnectionSecretToReference(r *xpv1.SecretReference) {
	s.Spec.WriteConnectionSecretToReference = r
}

// GetWriteConnectionSecretToReference satisfies resource.ConnectionSecretWriterTo.
func (s *Server) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return s.Spec.WriteConnectionSecretToReference
}

// SetDeletionPolicy satisfies resource.Orphanable.
func (s *Server) SetDeletionPolicy(p xpv1.DeletionPolicy) { s.Spec.DeletionPolicy = p }

// GetDeletionPolicy satisfies resource.Orphanable.
func (s *Server) GetDeletionPolicy() xpv1.DeletionPolicy { return s.Spec.DeletionPolicy }

// SetReclaimPolicy satisfies resource.Reclaimer.
func (s *Server) SetReclaimPolicy(p xpv1.ReclaimPolicy) { s.Spec.ReclaimPolicy = p }

// GetReclaimPolicy satisfies resource.Reclaimer.
func (s *Server) GetReclaimPolicy() xpv1.ReclaimPolicy { return s.Spec.ReclaimPolicy }

// SetDrift satisfies resource.Drifting.
func (s *Server) SetDrift(d []xpv1.FieldDifference) { s.Status.Drift = d }

// GetDrift satisfies resource.Drifting.
func (s *Server) GetDrift() []xpv1.FieldDifference { return s.Status.Drift }

// SetSecretInputs satisfies resource.SecretInputRecorder.
func (s *Server) SetSecretInputs(i []xpv1.SecretInput) { s.Status.SecretInputs = i }

// GetSecretInputs satisfies resource.SecretInputRecorder.
func (s *Server) GetSecretInputs() []xpv1.SecretInput { return s.Status.SecretInputs }

// SetBindingPhase satisfies resource.Bindable.
func (s *Server) SetBindingPhase(p xpv1.BindingPhase) { s.Status.BindingPhase = p }

// GetBindingPhase satisfies resource.Bindable.
func (s *Server) GetBindingPhase() xpv1.BindingPhase { return s.Status.BindingPhase }

// SetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (s *Server) SetProviderConfigReference(r *xpv1.ProviderConfigReference) {
	s.Spec.ProviderConfigReference = r
}

// GetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (s *Server) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return s.Spec.ProviderConfigReference
}
