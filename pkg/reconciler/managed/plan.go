// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"slices"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A PlannedAction is what a pass would do to an external resource.
type PlannedAction string

// Planned actions.
const (
	PlanCreate  PlannedAction = "Create"
	PlanUpdate  PlannedAction = "Update"
	PlanReplace PlannedAction = "Replace" // delete it with its data, and create another one
	PlanDelete  PlannedAction = "Delete"
	PlanNothing PlannedAction = "Nothing"
)

// A Plan is what a pass would do to an external resource, and why (N8).
type Plan struct {
	// Action that the pass would take.
	Action PlannedAction
	// Fields that the action would set, unless it is Delete, where the client can tell. Secret values are not shown.
	Fields []xpv1.FieldDifference
	// Unsettled is true if something stays wrong with the external resource in spite of the action. Message says what.
	Unsettled bool
	// Message is for people: why nothing would be done, where that is not because all is as declared, and what stays unsettled.
	Message string
}

// Plan returns what a pass over the object would do to its external resource. It reads, resolves references and observes,
// and writes nothing, neither to the API server nor to the external system. The object is the caller's, stored or not, and
// stays as it is. An error is what the pass would have failed with before it did anything.
func (r *Reconciler) Plan(ctx context.Context, mg resource.Managed) (Plan, error) {
	p, err := r.newPass(mg, &record{}, 0)
	if err != nil {
		return Plan{}, err
	}
	p.planning = true
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.disconnect(ctx, p)
	o := r.run(r.planning(p.managed)...)(ctx, p)
	detached, done := detach(ctx)
	defer done()
	if o.Err != nil {
		return Plan{}, r.redact(detached, p, o.Err)
	}
	plan, secrets := p.plan(o, r.parameters), r.secretsOfPass(detached, p)
	plan.Message, plan.Fields = redact.Text(plan.Message, secrets), redact.Fields(plan.Fields, secrets)
	return plan, nil
}

// planning are the steps of a pass that write nothing, as lifecycle orders them.
func (r *Reconciler) planning(mg resource.Managed) []step {
	steps := []step{r.checkPaused, r.checkPolicies, r.initialize}
	if meta.WasDeleted(mg) {
		return append(steps, r.awaitFinalizers, r.connect, r.recover, r.observe)
	}
	return append(steps, r.resolve, r.connect, r.recover, r.observe, r.own, r.checkCreation)
}

// checkCreation asks a client that knows it whether the creation that is planned would be refused.
func (r *Reconciler) checkCreation(ctx context.Context, p *pass) outcome {
	checker, can := optional[CreationChecker](p.external)
	if !can || p.observation.ResourceExists || !p.allows(xpv1.ManagementActionCreate) {
		return flow.Next()
	}
	check := func(ctx context.Context, mg resource.Managed) (bool, error) {
		return true, checker.CheckCreation(ctx, mg)
	}
	if _, err := read(ctx, r, verbObserve, p, check); err != nil {
		return failed(ReasonCannotCreate, callFailed("creating", err))
	}
	return flow.Next()
}

// plan returns what create, update and delete would do after the observation of a pass that ended well.
func (p *pass) plan(o outcome, rules parameters.Rules) Plan {
	spec, _ := p.spec().(tree)
	switch {
	case o.End != flow.Continue:
		return Plan{Action: PlanNothing, Message: o.Message}
	case meta.WasDeleted(p.managed):
		return p.planDeletion()
	case !p.observation.ResourceExists && !p.allows(xpv1.ManagementActionCreate):
		return Plan{Action: PlanNothing, Message: p.missing().Err.Error()}
	case !p.observation.ResourceExists:
		desired := parameters.Overlay(section(spec, "forProvider"), section(spec, "initProvider"))
		return Plan{Action: PlanCreate, Fields: parameters.Shorten(rules.Differences(desired, nil, nil))}
	case p.observation.ResourceUpToDate && (!p.inputs.rotated || !p.allows(xpv1.ManagementActionUpdate)):
		return p.unsettled(Plan{Action: PlanNothing})
	case !p.allows(xpv1.ManagementActionUpdate):
		return Plan{Action: PlanNothing, Unsettled: true, Message: driftMessage(p.observation) + " managementPolicies do not let it be updated."}
	case p.observation.Replacing:
		return p.unsettled(Plan{Action: PlanReplace, Fields: p.settled()})
	default:
		return p.unsettled(Plan{Action: PlanUpdate, Fields: p.settled()})
	}
}

// unsettled adds to a plan what it does not settle.
func (p *pass) unsettled(plan Plan) Plan {
	switch {
	case p.observation.Failed != nil:
		plan.Unsettled, plan.Message = true, p.failure().Error()
	case p.observation.ResourceUpToDate && len(p.observation.Drift) > 0:
		plan.Unsettled, plan.Message = true, driftMessage(p.observation)
	}
	return plan
}

// settled are the differences that an update settles, with the Secrets that it gives to the external system.
func (p *pass) settled() (fields []xpv1.FieldDifference) {
	for _, d := range p.observation.Drift {
		if !p.observation.ResourceUpToDate && !slices.Contains(p.observation.Fixed, d.Path) {
			fields = append(fields, d)
		}
	}
	return append(fields, p.rotatedInputs()...)
}

// rotatedInputs are the fields with other Secrets than the external system was given last. Those that it returns are in the observation.
func (p *pass) rotatedInputs() (fields []xpv1.FieldDifference) {
	recorder, ok := p.managed.(resource.SecretInputRecorder)
	if !ok || !p.inputs.rotated {
		return nil
	}
	given, now := recorder.GetSecretInputs(), p.inputs.read.versions // a plan always reads them
	named := map[string]bool{}
	for _, d := range p.observation.Drift {
		named[d.Path], named[d.Path+parameters.SecretSuffix] = true, true
	}
	for _, input := range slices.Concat(now, given) { // those that were given and are declared no more, too
		if slices.Contains(given, input) != slices.Contains(now, input) && !named[input.Field] {
			fields = append(fields, xpv1.FieldDifference{Path: input.Field, Desired: redact.Hidden, Observed: redact.Hidden})
			named[input.Field] = true
		}
	}
	return fields
}

// planDeletion returns what deleteExternal would do.
func (p *pass) planDeletion() Plan {
	switch {
	case !resource.MayDeleteExternal(p.managed), meta.OrphansOnDelete(p.managed):
		return Plan{Action: PlanNothing, Message: "The object's policies or annotations leave the external resource as it is."}
	case !p.observation.ResourceExists:
		return Plan{Action: PlanNothing, Message: "The external resource does not exist."}
	case !p.owns():
		return Plan{Action: PlanNothing, Message: "The external resource belongs to another object."}
	default:
		return Plan{Action: PlanDelete}
	}
}
