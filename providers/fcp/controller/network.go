// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

func clusterNetworks(c *clouds, o []managed.ReconcilerOption) Controller {
	k := networks(v1alpha3.NetworkGroupVersionKind, &v1alpha3.Network{})
	k.scope, k.clouds, k.options = clusterScope(), c, o
	return k
}

func namespacedNetworks(c *clouds, o []managed.ReconcilerOption) Controller {
	k := networks(namespacedv1alpha3.NetworkGroupVersionKind, &namespacedv1alpha3.Network{})
	k.scope, k.clouds, k.options = namespacedScope(), c, o
	return k
}

// networks is what the kinds of both scopes have in common.
func networks[T networkObject](gvk schema.GroupVersionKind, empty T) *kind[T] {
	return &kind[T]{
		gvk:    gvk,
		object: empty,
		client: func(c cloud) managed.TypedExternalClient[T] {
			return &networkClient[T]{cloud: c, service: network.NewClient(c.sdk), labels: labels{kind: gvk.GroupKind()}}
		},
		own: []managed.ReconcilerOption{managed.WithVendorNames()},
	}
}

// A networkObject is a Network of either scope.
type networkObject interface {
	resource.Managed
	Parameters() *v1alpha3.NetworkParameters
	Observation() *v1alpha3.NetworkObservation
}

// networkClient is the external client of one pass over a Network.
type networkClient[T networkObject] struct {
	cloud
	service *network.Client
	labels  labels
}

func (e *networkClient[T]) Observe(ctx context.Context, n T) (managed.ExternalObservation, error) {
	have, err := e.service.GetNetwork(ctx, meta.GetExternalName(n))
	if sdk.IsNotFound(err) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get network: %w", err)
	}
	e.labels.seen = have.Labels
	*n.Observation() = networkObservation(have)
	markReady(n, have.Status)
	theirs := networkParameters(have)
	filled, err := parameters.LateInitialize(n.Parameters(), theirs, fillLabels(n.Parameters().Labels))
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot take over settings: %w", err)
	}
	ours := *n.Parameters()
	ours.Labels = e.labels.declared(n, ours.Labels)
	o, err := judge(judgement{status: have.Status, labels: have.Labels, fixed: []string{"cidrBlock"}}, ours, theirs)
	o.ResourceLateInitialized = filled
	return o, err
}

func (e *networkClient[T]) Create(ctx context.Context, n T) (managed.ExternalCreation, error) {
	p := n.Parameters()
	created, err := e.service.CreateNetwork(ctx, network.CreateNetworkInput{
		CIDRBlock:   ptr.Deref(p.CIDRBlock, ""),
		Description: p.Description,
		DNSServers:  p.DNSServers,
		MTU:         p.MTU,
		Labels:      e.labels.forCreate(n, p.Labels),
	})
	if err != nil {
		return managed.ExternalCreation{}, fmt.Errorf("cannot create network: %w", unlessRefused(err))
	}
	meta.SetExternalName(n, created.ID)
	return managed.ExternalCreation{}, nil
}

// FindCreated finds the network that an interrupted creation left behind by its label (N5).
func (e *networkClient[T]) FindCreated(ctx context.Context, n T) (string, error) {
	found, err := e.service.ListNetworks(ctx, proof(n))
	if err != nil {
		return "", fmt.Errorf("cannot list networks: %w", err)
	}
	for _, have := range found {
		if have.Status != network.StatusDeleting {
			return have.ID, nil
		}
	}
	return "", nil
}

func (e *networkClient[T]) Update(ctx context.Context, n T) (managed.ExternalUpdate, error) {
	p := n.Parameters()
	in := network.UpdateNetworkInput{
		Description: p.Description,
		MTU:         p.MTU,
		Labels:      e.labels.forUpdate(n, p.Labels),
	}
	if p.DNSServers != nil {
		in.DNSServers = &p.DNSServers
	}
	if _, err := e.service.UpdateNetwork(ctx, meta.GetExternalName(n), in); err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("cannot update network: %w", err)
	}
	return managed.ExternalUpdate{}, nil
}

func (e *networkClient[T]) Delete(ctx context.Context, n T) error {
	err := resource.Ignore(sdk.IsNotFound, e.service.DeleteNetwork(ctx, meta.GetExternalName(n)))
	if err != nil {
		return fmt.Errorf("cannot delete network: %w", err)
	}
	return nil
}

// networkParameters are the settings that the cloud reports, as an object would declare them.
func networkParameters(have *network.Network) v1alpha3.NetworkParameters {
	return v1alpha3.NetworkParameters{
		CIDRBlock:   optional(have.CIDRBlock),
		Description: optional(have.Description),
		DNSServers:  have.DNSServers,
		MTU:         optional(have.MTU),
		Labels:      have.Labels,
	}
}

func networkObservation(have *network.Network) v1alpha3.NetworkObservation {
	return v1alpha3.NetworkObservation{
		ID:          have.ID,
		Status:      have.Status,
		CIDRBlock:   have.CIDRBlock,
		Description: have.Description,
		DNSServers:  have.DNSServers,
		MTU:         have.MTU,
		CreatedAt:   metav1.NewTime(have.CreatedAt),
	}
}
