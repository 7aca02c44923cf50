// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

const (
	spec   = "spec"
	status = "status"
)

// SetConditions satisfies resource.Conditioned.
func (m *Managed) SetConditions(c ...xpv1.Condition) {
	have := m.conditions()
	have.SetConditions(c...)
	write(m, field{status, "conditions"}, have.Conditions)
}

// GetCondition satisfies resource.Conditioned.
func (m *Managed) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	have := m.conditions()
	return have.GetCondition(ct)
}

func (m *Managed) conditions() xpv1.ConditionedStatus {
	return xpv1.ConditionedStatus{Conditions: read[[]xpv1.Condition](m, field{status, "conditions"}, nil)}
}

// SetManagementPolicies satisfies resource.Manageable. Empty policies stay empty, as a user's will to pause (R106).
func (m *Managed) SetManagementPolicies(p xpv1.ManagementPolicies) {
	write(m, field{spec, "managementPolicies"}, p)
}

// GetManagementPolicies satisfies resource.Manageable. Policies that are no list of words pause the object.
func (m *Managed) GetManagementPolicies() xpv1.ManagementPolicies {
	return read(m, field{spec, "managementPolicies"}, xpv1.ManagementPolicies{})
}

// SetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (m *Managed) SetProviderConfigReference(r *xpv1.ProviderConfigReference) {
	write(m, field{spec, "providerConfigRef"}, r)
}

// GetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (m *Managed) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return read[*xpv1.ProviderConfigReference](m, field{spec, "providerConfigRef"}, nil)
}

// SetWriteConnectionSecretToReference satisfies resource.ConnectionSecretWriterTo.
func (m *Managed) SetWriteConnectionSecretToReference(r *xpv1.SecretReference) {
	write(m, field{spec, "writeConnectionSecretToRef"}, r)
}

// GetWriteConnectionSecretToReference satisfies resource.ConnectionSecretWriterTo.
func (m *Managed) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return read[*xpv1.SecretReference](m, field{spec, "writeConnectionSecretToRef"}, nil)
}

// SetDeletionPolicy satisfies resource.Orphanable.
func (m *Managed) SetDeletionPolicy(p xpv1.DeletionPolicy) {
	write(m, field{spec, "deletionPolicy"}, p)
}

// GetDeletionPolicy satisfies resource.Orphanable. What is no policy keeps the external resource.
func (m *Managed) GetDeletionPolicy() xpv1.DeletionPolicy {
	return read(m, field{spec, "deletionPolicy"}, xpv1.DeletionOrphan)
}

// SetReclaimPolicy satisfies resource.Reclaimer.
func (m *Managed) SetReclaimPolicy(p xpv1.ReclaimPolicy) {
	write(m, field{spec, "reclaimPolicy"}, p)
}

// GetReclaimPolicy satisfies resource.Reclaimer. What is no policy keeps the external resource.
func (m *Managed) GetReclaimPolicy() xpv1.ReclaimPolicy {
	return read(m, field{spec, "reclaimPolicy"}, xpv1.ReclaimRetain)
}

// SetClaimReference satisfies resource.ClaimReferencer.
func (m *Managed) SetClaimReference(r *corev1.ObjectReference) {
	write(m, field{spec, "claimRef"}, r)
}

// GetClaimReference satisfies resource.ClaimReferencer.
func (m *Managed) GetClaimReference() *corev1.ObjectReference {
	return read[*corev1.ObjectReference](m, field{spec, "claimRef"}, nil)
}

// SetClassReference satisfies resource.ClassReferencer.
func (m *Managed) SetClassReference(r *corev1.ObjectReference) {
	write(m, field{spec, "classRef"}, r)
}

// GetClassReference satisfies resource.ClassReferencer.
func (m *Managed) GetClassReference() *corev1.ObjectReference {
	return read[*corev1.ObjectReference](m, field{spec, "classRef"}, nil)
}

// SetBindingPhase satisfies resource.Bindable.
func (m *Managed) SetBindingPhase(p xpv1.BindingPhase) {
	write(m, field{status, "bindingPhase"}, p)
}

// GetBindingPhase satisfies resource.Bindable.
func (m *Managed) GetBindingPhase() xpv1.BindingPhase {
	return read[xpv1.BindingPhase](m, field{status, "bindingPhase"}, "")
}

// SetDrift satisfies resource.Drifting.
func (m *Managed) SetDrift(d []xpv1.FieldDifference) {
	write(m, field{status, "drift"}, filled(d))
}

// GetDrift satisfies resource.Drifting.
func (m *Managed) GetDrift() []xpv1.FieldDifference {
	return read[[]xpv1.FieldDifference](m, field{status, "drift"}, nil)
}

// SetSecretInputs satisfies resource.SecretInputRecorder.
func (m *Managed) SetSecretInputs(i []xpv1.SecretInput) {
	write(m, field{status, "secretInputs"}, filled(i))
}

// GetSecretInputs satisfies resource.SecretInputRecorder.
func (m *Managed) GetSecretInputs() []xpv1.SecretInput {
	return read[[]xpv1.SecretInput](m, field{status, "secretInputs"}, nil)
}

// filled is nil for a list without entries, which the API leaves out.
func filled[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
