// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
)

func nodeGroups(c *clouds, o []managed.ReconcilerOption) Controller {
	gvk := v1alpha3.NodeGroupGroupVersionKind
	return &kind[*v1alpha3.NodeGroup]{
		gvk:    gvk,
		object: &v1alpha3.NodeGroup{},
		scope:  namespacedScope(),
		clouds: c,
		client: func(c cloud) managed.TypedExternalClient[*v1alpha3.NodeGroup] {
			return &nodeGroupClient{cloud: c, service: nodegroup.NewClient(c.sdk), labels: labels{kind: gvk.GroupKind()}}
		},
		options: o,
	}
}

// nodeGroupClient is the external client of one pass over a NodeGroup.
type nodeGroupClient struct {
	cloud
	service *nodegroup.Client
	labels  labels
}

// ReplaysCreate is true: the favourite cloud repeats the full answer to an idempotency key.
func (*nodeGroupClient) ReplaysCreate() bool { return true }

func (e *nodeGroupClient) Observe(ctx context.Context, g *v1alpha3.NodeGroup) (managed.ExternalObservation, error) {
	have, err := e.service.GetNodeGroup(ctx, meta.GetExternalName(g))
	if sdk.IsNotFound(err) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get node group: %w", err)
	}
	e.labels.seen = have.Labels
	g.Status.AtProvider = nodeGroupObservation(have)
	markReady(g, have.Status)
	theirs := nodeGroupParameters(have)
	initial, anyOrder := parameters.InitProvider(g.Spec.InitProvider), parameters.AsSet("subnetIds")
	filled, err := parameters.LateInitialize(&g.Spec.ForProvider, theirs, initial, anyOrder, fillLabels(g.Spec.ForProvider.Labels))
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot take over settings: %w", err)
	}
	ours := g.Spec.ForProvider
	ours.Labels = e.labels.declared(g, ours.Labels)
	j := judgement{status: have.Status, labels: have.Labels, fixed: []string{"subnetIds"}}
	o, err := judge(j, ours, theirs, initial, anyOrder)
	o.ResourceLateInitialized = filled
	return o, err
}

func (e *nodeGroupClient) Create(ctx context.Context, g *v1alpha3.NodeGroup) (managed.ExternalCreation, error) {
	p := g.Spec.ForProvider
	_, err := e.service.CreateNodeGroup(ctx, nodegroup.CreateNodeGroupInput{
		Name:          meta.GetExternalName(g),
		SubnetIDs:     p.SubnetIDs,
		ScalingConfig: scalingConfig(p.ScalingConfig),
		InstanceType:  p.InstanceType,
		Upgrade:       upgradeInput(p.Upgrade),
		Repair:        repairInput(p.Repair),
		Labels:        e.labels.forCreate(g, p.Labels),
	}, sdk.WithIdempotencyKey(meta.CreationToken(g)))
	if err != nil {
		return managed.ExternalCreation{}, fmt.Errorf("cannot create node group: %w", unlessRefused(err))
	}
	return managed.ExternalCreation{}, nil
}

// Update sends what forProvider sets and nothing of initProvider, which only counts at creation (R144).
func (e *nodeGroupClient) Update(ctx context.Context, g *v1alpha3.NodeGroup) (managed.ExternalUpdate, error) {
	p := g.Spec.ForProvider
	in := nodegroup.UpdateNodeGroupInput{
		InstanceType: p.InstanceType,
		Upgrade:      upgradeInput(p.Upgrade),
		Repair:       repairInput(p.Repair),
		Labels:       e.labels.forUpdate(g, p.Labels),
	}
	if len(p.ScalingConfig) > 0 {
		in.ScalingConfig = new(scalingConfig(p.ScalingConfig))
	}
	if _, err := e.service.UpdateNodeGroup(ctx, meta.GetExternalName(g), in); err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("cannot update node group: %w", err)
	}
	return managed.ExternalUpdate{}, nil
}

func (e *nodeGroupClient) Delete(ctx context.Context, g *v1alpha3.NodeGroup) error {
	err := resource.Ignore(sdk.IsNotFound, e.service.DeleteNodeGroup(ctx, meta.GetExternalName(g)))
	if err != nil {
		return fmt.Errorf("cannot delete node group: %w", err)
	}
	return nil
}

func scalingConfig(declared []v1alpha3.ScalingConfig) []nodegroup.ScalingConfigInput {
	var in []nodegroup.ScalingConfigInput
	for _, c := range declared {
		in = append(in, nodegroup.ScalingConfigInput{MinSize: c.MinSize, MaxSize: c.MaxSize, DesiredSize: c.DesiredSize})
	}
	return in
}

func upgradeInput(declared *v1alpha3.UpgradeSpec) *nodegroup.UpgradeInput {
	if declared == nil {
		return nil
	}
	return &nodegroup.UpgradeInput{Strategy: declared.Strategy, MaxUnavailable: declared.MaxUnavailable}
}

func repairInput(declared *v1alpha3.Repair) *nodegroup.RepairInput {
	if declared == nil {
		return nil
	}
	return &nodegroup.RepairInput{Enabled: &declared.Enabled}
}

// nodeGroupParameters are the settings that the cloud reports, as an object would declare them.
func nodeGroupParameters(have *nodegroup.NodeGroup) v1alpha3.NodeGroupParameters {
	p := v1alpha3.NodeGroupParameters{SubnetIDs: have.SubnetIDs, InstanceType: optional(have.InstanceType), Labels: have.Labels}
	for _, c := range have.ScalingConfig {
		p.ScalingConfig = append(p.ScalingConfig, v1alpha3.ScalingConfig{MinSize: &c.MinSize, MaxSize: &c.MaxSize, DesiredSize: &c.DesiredSize})
	}
	if u := have.Upgrade; u != nil {
		p.Upgrade = &v1alpha3.UpgradeSpec{Strategy: optional(u.Strategy), MaxUnavailable: optional(u.MaxUnavailable)}
	}
	if r := have.Repair; r != nil {
		p.Repair = &v1alpha3.Repair{Enabled: r.Enabled}
	}
	return p
}

func nodeGroupObservation(have *nodegroup.NodeGroup) v1alpha3.NodeGroupObservation {
	o := v1alpha3.NodeGroupObservation{
		Name:         have.Name,
		Status:       have.Status,
		SubnetIDs:    have.SubnetIDs,
		InstanceType: have.InstanceType,
		CreatedAt:    metav1.NewTime(have.CreatedAt),
	}
	for _, c := range have.ScalingConfig {
		o.ScalingConfig = append(o.ScalingConfig, v1alpha3.ScalingConfigObservation(c))
	}
	if u := have.Upgrade; u != nil {
		o.Upgrade = &v1alpha3.UpgradeStatus{Version: u.Version}
		if u.LastUpgradeAt != nil {
			o.Upgrade.LastUpgradeAt = new(metav1.NewTime(*u.LastUpgradeAt))
		}
	}
	return o
}
