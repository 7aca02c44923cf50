// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// SetConditions sets conditions of the node group.
func (g *NodeGroup) SetConditions(c ...xpv1.Condition) { g.Status.SetConditions(c...) }

// GetCondition returns a condition of the node group.
func (g *NodeGroup) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	return g.Status.GetCondition(ct)
}

// SetManagementPolicies satisfies resource.Manageable.
func (g *NodeGroup) SetManagementPolicies(p xpv1.ManagementPolicies) {
	g.Spec.ManagementPolicies = p
}

// GetManagementPolicies satisfies resource.Manageable.
func (g *NodeGroup) GetManagementPolicies() xpv1.ManagementPolicies {
	return g.Spec.ManagementPolicies
}

// SetProviderConfigReference sets which ProviderConfig the node group uses.
func (g *NodeGroup) SetProviderConfigReference(ref *xpv1.ProviderConfigReference) {
	g.Spec.ProviderConfigReference = ref
}

// GetProviderConfigReference returns which ProviderConfig the node group uses.
func (g *NodeGroup) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return g.Spec.ProviderConfigReference
}

// SetWriteConnectionSecretToReference sets where connection details go.
func (g *NodeGroup) SetWriteConnectionSecretToReference(ref *xpv1.SecretReference) {
	g.Spec.WriteConnectionSecretToReference = ref
}

// GetWriteConnectionSecretToReference returns where connection details go.
func (g *NodeGroup) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return g.Spec.WriteConnectionSecretToReference
}

// SetDeletionPolicy sets what becomes of the external node group on deletion.
func (g *NodeGroup) SetDeletionPolicy(p xpv1.DeletionPolicy) { g.Spec.DeletionPolicy = p }

// GetDeletionPolicy returns what becomes of the external node group on deletion.
func (g *NodeGroup) GetDeletionPolicy() xpv1.DeletionPolicy { return g.Spec.DeletionPolicy }

// SetDrift satisfies resource.Drifting.
func (g *NodeGroup) SetDrift(d []xpv1.FieldDifference) { g.Status.Drift = d }

// GetDrift satisfies resource.Drifting.
func (g *NodeGroup) GetDrift() []xpv1.FieldDifference { return g.Status.Drift }

// SetSecretInputs satisfies resource.SecretInputRecorder.
func (g *NodeGroup) SetSecretInputs(s []xpv1.SecretInput) { g.Status.SecretInputs = s }

// GetSecretInputs satisfies resource.SecretInputRecorder.
func (g *NodeGroup) GetSecretInputs() []xpv1.SecretInput { return g.Status.SecretInputs }

// SetBindingPhase satisfies resource.Bindable.
func (g *NodeGroup) SetBindingPhase(p xpv1.BindingPhase) { g.Status.BindingPhase = p }

// GetBindingPhase satisfies resource.Bindable.
func (g *NodeGroup) GetBindingPhase() xpv1.BindingPhase { return g.Status.BindingPhase }
