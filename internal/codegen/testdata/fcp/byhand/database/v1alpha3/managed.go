// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// SetConditions sets conditions of the instance.
func (i *FavouriteDBInstance) SetConditions(c ...xpv1.Condition) { i.Status.SetConditions(c...) }

// GetCondition returns a condition of the instance.
func (i *FavouriteDBInstance) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	return i.Status.GetCondition(ct)
}

// SetProviderConfigReference sets which ProviderConfig the instance uses.
func (i *FavouriteDBInstance) SetProviderConfigReference(r *xpv1.ProviderConfigReference) {
	i.Spec.ProviderConfigReference = r
}

// GetProviderConfigReference returns which ProviderConfig the instance uses.
func (i *FavouriteDBInstance) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return i.Spec.ProviderConfigReference
}

// SetWriteConnectionSecretToReference sets where connection details go.
func (i *FavouriteDBInstance) SetWriteConnectionSecretToReference(r *xpv1.SecretReference) {
	i.Spec.WriteConnectionSecretToReference = r
}

// GetWriteConnectionSecretToReference returns where connection details go.
func (i *FavouriteDBInstance) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return i.Spec.WriteConnectionSecretToReference
}

// SetDeletionPolicy sets what becomes of the external instance on deletion.
func (i *FavouriteDBInstance) SetDeletionPolicy(p xpv1.DeletionPolicy) { i.Spec.DeletionPolicy = p }

// GetDeletionPolicy returns what becomes of the external instance on deletion.
func (i *FavouriteDBInstance) GetDeletionPolicy() xpv1.DeletionPolicy { return i.Spec.DeletionPolicy }

// SetManagementPolicies satisfies resource.Manageable.
func (i *FavouriteDBInstance) SetManagementPolicies(p xpv1.ManagementPolicies) {
	i.Spec.ManagementPolicies = p
}

// GetManagementPolicies satisfies resource.Manageable.
func (i *FavouriteDBInstance) GetManagementPolicies() xpv1.ManagementPolicies {
	return i.Spec.ManagementPolicies
}

// SetReclaimPolicy satisfies resource.Reclaimer.
func (i *FavouriteDBInstance) SetReclaimPolicy(p xpv1.ReclaimPolicy) { i.Spec.ReclaimPolicy = p }

// GetReclaimPolicy satisfies resource.Reclaimer.
func (i *FavouriteDBInstance) GetReclaimPolicy() xpv1.ReclaimPolicy { return i.Spec.ReclaimPolicy }

// SetDrift satisfies resource.Drifting.
func (i *FavouriteDBInstance) SetDrift(d []xpv1.FieldDifference) { i.Status.Drift = d }

// GetDrift satisfies resource.Drifting.
func (i *FavouriteDBInstance) GetDrift() []xpv1.FieldDifference { return i.Status.Drift }

// SetSecretInputs satisfies resource.SecretInputRecorder.
func (i *FavouriteDBInstance) SetSecretInputs(s []xpv1.SecretInput) { i.Status.SecretInputs = s }

// GetSecretInputs satisfies resource.SecretInputRecorder.
func (i *FavouriteDBInstance) GetSecretInputs() []xpv1.SecretInput { return i.Status.SecretInputs }

// SetBindingPhase satisfies resource.Bindable.
func (i *FavouriteDBInstance) SetBindingPhase(p xpv1.BindingPhase) { i.Status.BindingPhase = p }

// GetBindingPhase satisfies resource.Bindable.
func (i *FavouriteDBInstance) GetBindingPhase() xpv1.BindingPhase { return i.Status.BindingPhase }

// SetClaimReference satisfies resource.ClaimReferencer.
func (i *FavouriteDBInstance) SetClaimReference(r *corev1.ObjectReference) { i.Spec.ClaimReference = r }

// GetClaimReference satisfies resource.ClaimReferencer.
func (i *FavouriteDBInstance) GetClaimReference() *corev1.ObjectReference {
	return i.Spec.ClaimReference
}

// SetClassReference satisfies resource.ClassReferencer.
func (i *FavouriteDBInstance) SetClassReference(r *corev1.ObjectReference) { i.Spec.ClassReference = r }

// GetClassReference satisfies resource.ClassReferencer.
func (i *FavouriteDBInstance) GetClassReference() *corev1.ObjectReference {
	return i.Spec.ClassReference
}
