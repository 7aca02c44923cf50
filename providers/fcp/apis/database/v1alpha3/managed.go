// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import xpv1 "github.com/bowline-dev/bowline/apis/common/v1"

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
