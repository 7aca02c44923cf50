// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// create creates the external resource if there is none, or requests the lost result of a create once more (R22, R23, N22).
func (r *Reconciler) create(ctx context.Context, p *pass) outcome {
	replay, permitted := p.mustReplay(), p.allows(xpv1.ManagementActionCreate)
	foreign := p.observation.Owner != nil && *p.observation.Owner != p.managed.GetUID()
	if p.observation.ResourceExists && (!replay || foreign || !permitted) {
		if meta.ExternalCreateUnacknowledged(p.managed) { // its result was lost, and the resource exists (N36)
			return r.recordFound(ctx, p, meta.GetExternalName(p.managed))
		}
		return flow.Next()
	}
	if !permitted {
		return p.missing()
	}
	if o := r.awaitAppearance(p); o.End != flow.Continue && !replay {
		return o
	}
	if p.ended.verb == verbCreate {
		return flow.Await(0, waitsToAppear)
	}
	if o := flow.Run(ctx, p, r.findSecret, r.giveInputs, r.completeInputs, r.storeChosenCredentials, r.forgetIdentity, r.beginCreate); o.End != flow.Continue {
		return o
	}
	p.noteCondition(xpv1.Creating())
	p.memory.seen, p.memory.uncreated, p.memory.deleteAllowed = false, time.Time{}, false
	p.noteSystem()
	if o := flow.Run(ctx, p, r.callCreate, r.observe); o.End != flow.Continue {
		return o
	}
	if !p.observation.ResourceExists {
		return flow.Await(0, waitsToAppear)
	}
	return flow.Next()
}

// missing is the outcome for an object whose external resource does not exist and must not be created (R110, R132).
func (p *pass) missing() outcome {
	err := errors.New("the external resource does not exist, and managementPolicies do not let it be created")
	if name := meta.GetExternalName(p.managed); name != "" {
		err = fmt.Errorf("external resource %q does not exist, and managementPolicies do not let it be created: correct the "+
			"annotation %s, or add Create to the policies", name, meta.AnnotationKeyExternalName)
	}
	p.noteCondition(xpv1.Unavailable().WithMessage("The external resource does not exist."))
	p.setDrift(notInSync(xpv1.ReasonUnavailable, "The external resource does not exist."), nil)
	return rejected(ReasonCannotObserve, failure.With(failure.ExternalResourceMissing, err))
}

// callCreate calls Create with initProvider laid under forProvider. What the call sets stays, except for the spec (R141, D46).
func (r *Reconciler) callCreate(ctx context.Context, p *pass) outcome {
	initial := section(p.spec(), "initProvider")
	if len(initial) > 0 {
		err := p.rebuild(func(u tree) {
			section(u, "spec")["forProvider"] = parameters.Overlay(section(u["spec"], "forProvider"), initial)
		})
		if err != nil {
			return rejected(ReasonCannotCreate, fmt.Errorf("laying initProvider under forProvider: %w", err))
		}
	}
	o := flow.Run(r.fenceCreation(ctx, p), p, r.proveOwnership, r.perform(verbCreate))
	if len(initial) > 0 {
		if err := p.rebuild(func(u tree) { put(u, "spec", p.spec()) }); err != nil {
			return rejected(ReasonCannotCreate, fmt.Errorf("removing initProvider from the spec in memory: %w", err))
		}
	}
	return o
}

// createEnded records the result of Create.
func (r *Reconciler) createEnded(ctx context.Context, p *pass, op *operation) outcome {
	if op.err != nil && !failure.IsAccepted(op.err) {
		return r.createFailed(ctx, p, op.err)
	}
	p.memory.sent = time.Time{} // a new resource has no pending credentials
	if name := meta.GetExternalName(op.managed); name != "" {
		meta.SetExternalName(p.managed, name)
	}
	if meta.GetExternalName(p.managed) == "" {
		return stopped(ReasonCannotCreate, failure.New(failure.CreateInterrupted, "the provider created a resource and set no external name, "+
			"which is a bug in the provider: set the annotation "+meta.AnnotationKeyExternalName+" by hand, then remove the annotation "+
			meta.AnnotationKeyExternalCreatePending))
	}
	p.memory.proof = r.proofOf(p, op.managed, meta.GetExternalName(p.managed))
	if o := r.createSucceeded(ctx, p, op.details); o.End != flow.Continue {
		return o
	}
	p.inputsApplied(op.inputs)
	if op.err != nil {
		return failed(ReasonCannotCreate, callFailed("creating", op.err))
	}
	p.note(event.Normal(ReasonCreated, "Created the external resource "+meta.GetExternalName(p.managed)))
	return flow.Next()
}

const waitsToAppear = "The external resource was created a moment ago, or may have been, and is not visible yet."

// awaitAppearance waits while a resource not seen since its creation may still be about to appear: within the grace period after a
// creation that succeeded, or after the beginning of one that may still be in progress (R88, N26, N20).
func (r *Reconciler) awaitAppearance(p *pass) outcome {
	since, grace := meta.GetExternalCreateSucceeded(p.managed), r.creationGrace
	if meta.ExternalCreateIncomplete(p.managed) && !p.nothingCreated() {
		since, grace = meta.GetExternalCreatePending(p.managed), max(grace, r.consistency)
	}
	left := min(grace-r.now().Sub(since), grace) // a clock that was set back prolongs nothing
	if p.createsAgain || p.memory.seen || p.observation.ResourceExists || since.IsZero() || left <= 0 {
		return flow.Next()
	}
	if wasReady(p.managed.GetCondition(xpv1.TypeReady)) { // as an earlier process saw it
		p.noteCondition(xpv1.Unavailable().WithMessage("The external resource is not visible."))
	}
	return flow.Await(left, waitsToAppear)
}

// nothingCreated is true if this process knows that the pending create did nothing: it was not called, or it was rejected.
func (p *pass) nothingCreated() bool {
	pending := meta.GetExternalCreatePending(p.managed)
	return !pending.IsZero() && pending.Equal(p.memory.uncreated)
}

// beginCreate stores, in one write that is refused if the object changed since it was read, all that a creation needs to be
// recovered after a crash (R52, R77, R78). A creation that is repeated has it stored already.
func (r *Reconciler) beginCreate(ctx context.Context, p *pass) outcome {
	// The mark serves for another attempt where a repeated token or a known name cannot create twice. Where what was created has to
	// be looked for, the time of the mark counts, and each attempt needs its own (N26). An old one would make the attempt too late (N87).
	system := p.observation.System.ID
	holds := p.mustReplay() || p.nothingCreated() && r.defaultName != nil
	holds = holds && p.managed.GetAnnotations()[meta.AnnotationKeyExternalCreateSystem] == system
	if holds && meta.ExternalCreateIncomplete(p.managed) && r.sinceBegin(p) <= r.consistency/4 {
		return r.storeSpec(ctx, p)
	}
	name, began := meta.GetExternalName(p.managed), time.Time{}
	err := r.writeMetadata(ctx, p, func(o metav1.Object) {
		meta.AddFinalizer(o, Finalizer)
		if name != "" {
			meta.SetExternalName(o, name)
		}
		p.memory.marked = r.now().Round(0)
		meta.SetExternalCreatePending(o, p.memory.marked)
		began = meta.GetExternalCreatePending(o)
		meta.SetExternalCreateSystem(o, system)
		p.memory.mark = began
		connection.SetCreatedKeys(o, p.memory.oneTimeKeys)
		connection.Record(o, p.managed)
	})
	o := written("recording that creation begins", err)
	switch o.End {
	case flow.Continue:
		p.memory.uncreated = time.Time{}
	case flow.Conflict:
	default:
		p.memory.uncreated = began // the write may have been stored although its answer was lost
	}
	return o
}

// findSecret refuses a creation while the controllers may not read the connection Secret: they could not store what Create returns (N22).
func (r *Reconciler) findSecret(ctx context.Context, p *pass) outcome {
	if _, err := r.ownSecret(ctx, p); err != nil {
		p.withhold(failure.ConnectionSecretUnavailable, "The connection Secret cannot be read.")
		return failed(ReasonCannotPublish, fmt.Errorf("looking for the connection Secret before the creation: %w", err))
	}
	return flow.Next()
}

// storeChosenCredentials stores the credentials of a client that chooses them, before creation begins (N22).
func (r *Reconciler) storeChosenCredentials(ctx context.Context, p *pass) outcome {
	p.memory.oneTimeKeys = nil
	chooser, ok := optional[CredentialChooser](p.external)
	if !ok {
		return flow.Next()
	}
	secret, err := r.secrets.Get(ctx, r.live, p.managed)
	if err != nil {
		return failed(ReasonCannotPublish, fmt.Errorf("reading stored credentials: %w", err))
	}
	var stored ConnectionDetails
	if secret != nil {
		stored = secret.Data
	}
	chosen, err := chooser.ChooseCredentials(ctx, stored)
	if err != nil {
		return failed(ReasonCannotCreate, fmt.Errorf("choosing credentials: %w", err))
	}
	if err := r.write(ctx, p, chosen, nil); err != nil {
		return failed(ReasonCannotPublish, fmt.Errorf("storing the credentials of the new resource: %w", err))
	}
	p.rememberKeys(chosen)
	return flow.Next()
}

// createFailed records that creation failed, so that the next pass may retry (R80, R95). An error that leaves open whether
// the resource was created records nothing: the creation stays pending.
func (r *Reconciler) createFailed(ctx context.Context, p *pass, cause error) outcome {
	err := callFailed("creating", cause)
	if failure.IsOutcomeUnknown(cause) {
		return failed(ReasonCannotCreate, err)
	}
	if verr := r.voidOwnership(ctx, p); verr != nil {
		err = errors.Join(err, fmt.Errorf("storing that nothing was created: %w", verr))
	}
	if _, asked := failure.RetryAfter(cause); asked && r.isRecoverable(p) { // the mark serves for the next attempt
		p.memory.uncreated = meta.GetExternalCreatePending(p.managed)
		return failed(ReasonCannotCreate, err)
	}
	werr := r.recordResult(ctx, p, func(o metav1.Object) { meta.SetExternalCreateFailed(o, r.now()) })
	if werr != nil {
		err = errors.Join(err, fmt.Errorf("recording the failure: %w", werr))
	}
	return failed(ReasonCannotCreate, err)
}

// createSucceeded stores the answer of Create, first what would be lost (N22). If the connection details cannot be stored they stay
// in memory; unless Create repeats its answer, the creation is recorded all the same, lest its name be lost (R74).
func (r *Reconciler) createSucceeded(ctx context.Context, p *pass, details ConnectionDetails) outcome {
	lasting, cancel := detach(ctx)
	defer cancel()
	p.rememberKeys(details)
	// The Secret, which people may write, must not have the name before the proof. A failure is repeated by recordCreated.
	_ = r.proveCreated(lasting, p, meta.GetExternalName(p.managed))
	if len(details) > 0 {
		err := retry.OnError(persistence, isRetriable, func() error {
			return r.write(lasting, p, details, connection.CreationMarks(p.managed))
		})
		if err != nil && !errors.Is(err, connection.ErrRotated) {
			return r.keepUnpublished(ctx, p, details, err)
		}
	}
	return r.recordCreated(ctx, p, meta.GetExternalName(p.managed))
}

func (r *Reconciler) keepUnpublished(ctx context.Context, p *pass, details ConnectionDetails, cause error) outcome {
	cannotPublish := failed(ReasonCannotPublish, fmt.Errorf("publishing connection details: %w", cause))
	if p.mustReplay() {
		if name := meta.GetExternalName(p.managed); p.annotations[meta.AnnotationKeyExternalName] != name {
			if err := r.recordResult(ctx, p, func(o metav1.Object) { meta.SetExternalName(o, name) }); err != nil {
				return failed(ReasonCannotUpdateMR, err)
			}
		}
		return cannotPublish
	}
	p.memory.unpublished = maps.Clone(details)
	if o := r.recordCreated(ctx, p, meta.GetExternalName(p.managed)); o.End != flow.Continue {
		return o
	}
	return cannotPublish
}
