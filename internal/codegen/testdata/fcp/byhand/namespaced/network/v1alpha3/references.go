// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/reference"
)

// ResolveReferences fills in the id of the network that the subnet is a part of (R158).
func (s *Subnet) ResolveReferences(ctx context.Context, c client.Reader) error {
	p := &s.Spec.ForProvider
	rsp, err := reference.NewAPIResolver(c, s).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: reference.FromPtrValue(p.NetworkID),
		Reference:    p.NetworkIDRef,
		Selector:     p.NetworkIDSelector,
		To:           reference.To{Managed: &Network{}, List: &NetworkList{}},
		FieldPath:    "spec.forProvider.networkId",
	})
	if err != nil {
		return err
	}
	p.NetworkID, p.NetworkIDRef = reference.ToPtrValue(rsp.ResolvedValue), rsp.ResolvedReference
	return nil
}
