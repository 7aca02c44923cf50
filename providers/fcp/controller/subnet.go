// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
)

func subnets(c *clouds, o []managed.ReconcilerOption) Controller {
	return &kind[*v1alpha3.Subnet]{
		gvk:    v1alpha3.SubnetGroupVersionKind,
		object: &v1alpha3.Subnet{},
		scope:  namespacedScope(),
		clouds: c,
		client: func(c cloud) managed.TypedExternalClient[*v1alpha3.Subnet] {
			return &subnetClient{
				cloud:   c,
				service: subnet.NewClient(c.sdk),
				labels:  labels{kind: v1alpha3.SubnetGroupVersionKind.GroupKind()},
			}
		},
		own:     []managed.ReconcilerOption{managed.WithVendorNames()},
		options: o,
	}
}

// subnetClient is the external client of one pass over a Subnet.
type subnetClient struct {
	cloud
	service *subnet.Client
	labels  labels
}

func (e *subnetClient) Observe(ctx context.Context, s *v1alpha3.Subnet) (managed.ExternalObservation, error) {
	have, err := e.service.GetSubnet(ctx, meta.GetExternalName(s))
	if sdk.IsNotFound(err) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get subnet: %w", err)
	}
	e.labels.seen = have.Labels
	s.Status.AtProvider = subnetObservation(have)
	markReady(s, have.Status)
	theirs := subnetParameters(have)
	filled, err := parameters.LateInitialize(&s.Spec.ForProvider, theirs, fillLabels(s.Spec.ForProvider.Labels))
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot take over settings: %w", err)
	}
	ours := s.Spec.ForProvider
	ours.Labels = e.labels.declared(s, ours.Labels)
	j := judgement{status: have.Status, labels: have.Labels, fixed: []string{"networkId", "cidrBlock", "zone"}}
	o, err := judge(j, ours, theirs)
	o.ResourceLateInitialized = filled
	return o, err
}

func (e *subnetClient) Create(ctx context.Context, s *v1alpha3.Subnet) (managed.ExternalCreation, error) {
	p := s.Spec.ForProvider
	created, err := e.service.CreateSubnet(ctx, subnet.CreateSubnetInput{
		NetworkID: ptr.Deref(p.NetworkID, ""),
		CIDRBlock: ptr.Deref(p.CIDRBlock, ""),
		Zone:      p.Zone,
		Labels:    e.labels.forCreate(s, p.Labels),
	})
	if err != nil {
		return managed.ExternalCreation{}, fmt.Errorf("cannot create subnet: %w", unlessRefused(err))
	}
	meta.SetExternalName(s, created.ID)
	return managed.ExternalCreation{}, nil
}

// FindCreated finds the subnet that an interrupted creation left behind by its label (N5).
func (e *subnetClient) FindCreated(ctx context.Context, s *v1alpha3.Subnet) (string, error) {
	found, err := e.service.ListSubnets(ctx, proof(s))
	if err != nil {
		return "", fmt.Errorf("cannot list subnets: %w", err)
	}
	for _, have := range found {
		if have.Status != subnet.StatusDeleting {
			return have.ID, nil
		}
	}
	return "", nil
}

// Update sends labels; nothing else of a subnet can change.
func (e *subnetClient) Update(ctx context.Context, s *v1alpha3.Subnet) (managed.ExternalUpdate, error) {
	in := subnet.UpdateSubnetInput{Labels: e.labels.forUpdate(s, s.Spec.ForProvider.Labels)}
	if _, err := e.service.UpdateSubnet(ctx, meta.GetExternalName(s), in); err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("cannot update subnet: %w", err)
	}
	return managed.ExternalUpdate{}, nil
}

func (e *subnetClient) Delete(ctx context.Context, s *v1alpha3.Subnet) error {
	err := resource.Ignore(sdk.IsNotFound, e.service.DeleteSubnet(ctx, meta.GetExternalName(s)))
	if err != nil {
		return fmt.Errorf("cannot delete subnet: %w", err)
	}
	return nil
}

// subnetParameters are the settings that the cloud reports, as an object would declare them.
func subnetParameters(have *subnet.Subnet) v1alpha3.SubnetParameters {
	return v1alpha3.SubnetParameters{
		NetworkID: optional(have.NetworkID),
		CIDRBlock: optional(have.CIDRBlock),
		Zone:      optional(have.Zone),
		Labels:    have.Labels,
	}
}

func subnetObservation(have *subnet.Subnet) v1alpha3.SubnetObservation {
	return v1alpha3.SubnetObservation{
		ID:        have.ID,
		Status:    have.Status,
		NetworkID: have.NetworkID,
		CIDRBlock: have.CIDRBlock,
		Zone:      have.Zone,
		CreatedAt: metav1.NewTime(have.CreatedAt),
	}
}
