// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package thing

import (
	"context"

	kube "sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reference"
)

// ResolveReferences satisfies resource.ReferenceResolver.
func (t *Thing) ResolveReferences(ctx context.Context, c kube.Reader) error {
	p := &t.Spec.ForProvider
	rsp, err := reference.NewAPIResolver(c, t).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: reference.FromPtrValue(p.Neighbour),
		Reference:    p.NeighbourRef,
		Selector:     p.NeighbourSelector,
		To:           reference.To{Managed: &Thing{}, List: &List{}},
		FieldPath:    "spec.forProvider.neighbour",
	})
	if err != nil {
		return err
	}
	p.Neighbour, p.NeighbourRef = reference.ToPtrValue(rsp.ResolvedValue), rsp.ResolvedReference
	return nil
}

// SetConditions satisfies resource.Conditioned.
func (t *Thing) SetConditions(c ...xpv1.Condition) { t.Status.SetConditions(c...) }

// GetCondition satisfies resource.Conditioned.
func (t *Thing) GetCondition(ct xpv1.ConditionType) xpv1.Condition { return t.Status.GetCondition(ct) }

// SetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (t *Thing) SetProviderConfigReference(r *xpv1.ProviderConfigReference) {
	t.Spec.ProviderConfigReference = r
}

// GetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (t *Thing) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return t.Spec.ProviderConfigReference
}

// SetWriteConnectionSecretToReference satisfies resource.ConnectionSecretWriterTo.
func (t *Thing) SetWriteConnectionSecretToReference(r *xpv1.SecretReference) {
	t.Spec.WriteConnectionSecretToReference = r
}

// GetWriteConnectionSecretToReference satisfies resource.ConnectionSecretWriterTo.
func (t *Thing) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return t.Spec.WriteConnectionSecretToReference
}

// SetDeletionPolicy satisfies resource.Orphanable.
func (t *Thing) SetDeletionPolicy(p xpv1.DeletionPolicy) { t.Spec.DeletionPolicy = p }

// GetDeletionPolicy satisfies resource.Orphanable.
func (t *Thing) GetDeletionPolicy() xpv1.DeletionPolicy { return t.Spec.DeletionPolicy }

// SetManagementPolicies satisfies resource.Manageable.
func (t *Thing) SetManagementPolicies(p xpv1.ManagementPolicies) { t.Spec.ManagementPolicies = p }

// GetManagementPolicies satisfies resource.Manageable.
func (t *Thing) GetManagementPolicies() xpv1.ManagementPolicies { return t.Spec.ManagementPolicies }

// SetReclaimPolicy satisfies resource.Reclaimer.
func (t *Thing) SetReclaimPolicy(p xpv1.ReclaimPolicy) { t.Spec.ReclaimPolicy = p }

// GetReclaimPolicy satisfies resource.Reclaimer.
func (t *Thing) GetReclaimPolicy() xpv1.ReclaimPolicy { return t.Spec.ReclaimPolicy }

// SetDrift satisfies resource.Drifting.
func (t *Thing) SetDrift(d []xpv1.FieldDifference) { t.Status.Drift = d }

// GetDrift satisfies resource.Drifting.
func (t *Thing) GetDrift() []xpv1.FieldDifference { return t.Status.Drift }

// SetSecretInputs satisfies resource.SecretInputRecorder.
func (t *Thing) SetSecretInputs(s []xpv1.SecretInput) { t.Status.SecretInputs = s }

// GetSecretInputs satisfies resource.SecretInputRecorder.
func (t *Thing) GetSecretInputs() []xpv1.SecretInput { return t.Status.SecretInputs }

// SetBindingPhase satisfies resource.Bindable.
func (t *Thing) SetBindingPhase(p xpv1.BindingPhase) { t.Status.BindingPhase = p }

// GetBindingPhase satisfies resource.Bindable.
func (t *Thing) GetBindingPhase() xpv1.BindingPhase { return t.Status.BindingPhase }
