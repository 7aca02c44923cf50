// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/reference"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
)

// ResolveReferences fills in the ids of the subnets that the machines are in (R158, R170). Those of spec.initProvider do
// not matter where spec.forProvider has some (R142).
func (g *NodeGroup) ResolveReferences(ctx context.Context, c client.Reader) error {
	r := reference.NewAPIResolver(c, g)
	p := &g.Spec.ForProvider
	rsp, err := r.ResolveMultiple(ctx, subnets("spec.forProvider.subnetIds", reference.MultiResolutionRequest{
		CurrentValues: p.SubnetIDs,
		References:    p.SubnetIDRefs,
		Selector:      p.SubnetIDSelector,
	}))
	if err != nil {
		return err
	}
	p.SubnetIDs, p.SubnetIDRefs = rsp.ResolvedValues, rsp.ResolvedReferences
	if len(p.SubnetIDs) > 0 {
		return nil
	}
	i := &g.Spec.InitProvider
	rsp, err = r.ResolveMultiple(ctx, subnets("spec.initProvider.subnetIds", reference.MultiResolutionRequest{
		CurrentValues: i.SubnetIDs,
		References:    i.SubnetIDRefs,
		Selector:      i.SubnetIDSelector,
	}))
	if err != nil {
		return err
	}
	i.SubnetIDs, i.SubnetIDRefs = rsp.ResolvedValues, rsp.ResolvedReferences
	return nil
}

func subnets(field string, r reference.MultiResolutionRequest) reference.MultiResolutionRequest {
	r.FieldPath = field
	r.To = reference.To{Managed: &networkv1alpha3.Subnet{}, List: &networkv1alpha3.SubnetList{}}
	return r
}
