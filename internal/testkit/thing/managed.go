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

// The methods of resource.Managed.

func (t *Thing) SetConditions(c ...xpv1.Condition)                 { t.Status.SetConditions(c...) }
func (t *Thing) GetCondition(ct xpv1.ConditionType) xpv1.Condition { return t.Status.GetCondition(ct) }
func (t *Thing) SetProviderConfigReference(r *xpv1.ProviderConfigReference) {
	t.Spec.ProviderConfigReference = r
}
func (t *Thing) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return t.Spec.ProviderConfigReference
}
func (t *Thing) SetWriteConnectionSecretToReference(r *xpv1.SecretReference) {
	t.Spec.WriteConnectionSecretToReference = r
}
func (t *Thing) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return t.Spec.WriteConnectionSecretToReference
}
func (t *Thing) SetDeletionPolicy(p xpv1.DeletionPolicy)         { t.Spec.DeletionPolicy = p }
func (t *Thing) GetDeletionPolicy() xpv1.DeletionPolicy          { return t.Spec.DeletionPolicy }
func (t *Thing) SetManagementPolicies(p xpv1.ManagementPolicies) { t.Spec.ManagementPolicies = p }
func (t *Thing) GetManagementPolicies() xpv1.ManagementPolicies  { return t.Spec.ManagementPolicies }
func (t *Thing) SetReclaimPolicy(p xpv1.ReclaimPolicy)           { t.Spec.ReclaimPolicy = p }
func (t *Thing) GetReclaimPolicy() xpv1.ReclaimPolicy            { return t.Spec.ReclaimPolicy }
func (t *Thing) SetDrift(d []xpv1.FieldDifference)               { t.Status.Drift = d }
func (t *Thing) GetDrift() []xpv1.FieldDifference                { return t.Status.Drift }
func (t *Thing) SetSecretInputs(s []xpv1.SecretInput)            { t.Status.SecretInputs = s }
func (t *Thing) GetSecretInputs() []xpv1.SecretInput             { return t.Status.SecretInputs }
func (t *Thing) SetBindingPhase(p xpv1.BindingPhase)             { t.Status.BindingPhase = p }
func (t *Thing) GetBindingPhase() xpv1.BindingPhase              { return t.Status.BindingPhase }

// The methods of kind.Object.

func (t *Thing) Parameters() *Parameters  { return &t.Spec.ForProvider }
func (t *Thing) Observation() *Parameters { return &t.Status.AtProvider }
func (t *Thing) InitParameters() any      { return t.Spec.InitProvider }
