// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"context"

	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Plan returns what a pass over the resource would do to its object in the cluster (N8), which a dry run of the cluster tells. It writes
// nothing, and does not plan copies of Secrets. An error is what the pass would have failed with.
func (r *Reconciler) Plan(ctx context.Context, resource *workloadv1alpha1.KubernetesApplicationResource) (managed.Plan, error) {
	p := &pass{resource: resource.DeepCopy(), memory: &memory{}, leases: map[string]*clusters.Lease{}}
	defer p.release()
	o := flow.Run(ctx, p, r.checkPaused, r.findTarget, r.connect, r.readTemplate, r.checkBounds, r.findObject, r.observe)
	switch {
	case o.Err != nil:
		return managed.Plan{}, o.Err
	case o.End != flow.Continue:
		return managed.Plan{Action: managed.PlanNothing, Message: o.Message}, nil
	case meta.WasDeleted(resource) && (p.live == nil || meta.OrphansOnDelete(resource)):
		return managed.Plan{Action: managed.PlanNothing, Message: "The object does not exist, or is left as it is."}, nil
	case meta.WasDeleted(resource):
		return managed.Plan{Action: managed.PlanDelete}, nil
	}
	if o := r.own(ctx, p); o.Err != nil {
		return managed.Plan{}, o.Err
	}
	after, err := p.cluster.Apply(ctx, p.object, p.desired, clusters.ApplyOptions{Owner: ownerOf(p.resource.UID), Force: p.live != nil, DryRun: true})
	if err != nil {
		return managed.Plan{}, r.failRemote(p, err).Err
	}
	plan := managed.Plan{Action: managed.PlanCreate}
	before := map[string]any{}
	if p.live != nil {
		plan.Action, before = managed.PlanUpdate, clusters.Declarable(p.live)
	}
	plan.Fields = redact.Fields(parameters.Shorten((parameters.Rules{}).Differences(clusters.Declarable(after), before, nil)), p.secretValues())
	if p.live != nil && clusters.Fingerprint(p.live) == clusters.Fingerprint(after) {
		plan = managed.Plan{Action: managed.PlanNothing}
	}
	return plan, nil
}
