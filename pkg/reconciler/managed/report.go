// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// report ends a pass that did what it could with what is wrong all the same: drift, a failure of the external resource, lost
// connection details, or settings that the API server refuses.
func (r *Reconciler) report(ctx context.Context, p *pass) outcome {
	p.reportDrift()
	lost := r.reportLost(ctx, p) // no failure hides that from Ready
	if p.observation.Failed != nil {
		return failed(ReasonExternalFailed, p.failure())
	}
	if lost.End != flow.Continue {
		return lost
	}
	if p.leftWithheld && slices.Contains(withheld, p.managed.GetCondition(xpv1.TypeReady).Reason) {
		p.noteCondition(xpv1.Available()) // a client need not set it at each observation (R31)
	}
	if p.rotation.refused != nil {
		return rejected(ReasonCannotRotate, failure.With(failure.RotationImpossible, p.rotation.refused))
	}
	if p.memory.refusal == nil {
		return flow.Next()
	}
	o := rejected(ReasonCannotFill, failure.With(failure.SpecRefused, p.memory.refusal.err))
	o.After = r.pollAfter(p)
	return o
}

// settlingUpdates is how many updates in a row may leave a difference before it counts as one that no update settles:
// many external systems apply an update a little later than they accept it.
const settlingUpdates = 2

// reportDrift reports drift and its end, once: the message names the fields, and the status has their values (N8, P81).
func (p *pass) reportDrift() {
	if p.observation.ResourceUpToDate && len(p.observation.Drift) == 0 {
		p.memory.updates = 0
		p.setDrift(xpv1.InSync(), nil)
		return
	}
	// Drift of a resource that is up to date is such that no update settles it: in a field that cannot change.
	updatable := !p.observation.ResourceUpToDate && p.allows(xpv1.ManagementActionUpdate)
	if updatable && p.memory.updates < settlingUpdates && !p.drifted() && !p.reappeared() {
		return
	}
	condition := xpv1.Drifted(driftMessage(p.observation))
	if !flow.Same(condition, p.inSync()) {
		p.note(event.Warning(ReasonDrifted, errors.New(condition.Message)))
	}
	p.setDrift(condition, p.observation.Drift)
}

// drifted is true if the object reports already that its external resource differs for good.
func (p *pass) drifted() bool { return p.inSync().Reason == xpv1.ReasonDrifted }

// reappeared is true if the object still reports that its external resource is missing, which this pass found.
func (p *pass) reappeared() bool {
	c := p.inSync()
	return p.observed && p.observation.ResourceExists && !meta.WasDeleted(p.managed) && c.Status == corev1.ConditionFalse && c.Reason != xpv1.ReasonDrifted
}

// notInSync is condition InSync of an object whose external resource is missing.
func notInSync(reason xpv1.ConditionReason, message string) xpv1.Condition {
	c := xpv1.Drifted(message)
	c.Reason = reason
	return c
}

func (p *pass) inSync() xpv1.Condition { return p.managed.GetCondition(xpv1.TypeInSync) }

func (p *pass) setDrift(c xpv1.Condition, fields []xpv1.FieldDifference) {
	p.noteCondition(c.WithObservedGeneration(p.managed.GetGeneration()))
	if d, ok := p.managed.(resource.Drifting); ok {
		d.SetDrift(fields)
	}
}

func driftMessage(o ExternalObservation) string {
	if len(o.Drift) == 0 {
		if o.Diff != "" {
			return "The external resource differs from spec.forProvider: " + o.Diff
		}
		return "The external resource differs from spec.forProvider."
	}
	return "The external resource differs from spec.forProvider in " + driftPaths(o) + ": see status.drift."
}

func driftPaths(o ExternalObservation) string {
	paths := make([]string, 0, len(o.Drift))
	for _, field := range o.Drift {
		paths = append(paths, field.Path)
	}
	return strings.Join(paths, ", ")
}

func (p *pass) failure() error {
	return fmt.Errorf("the external resource is not as it should be: %w", p.observation.Failed)
}

// withheld are the reasons of condition Ready of an object whose client reports an external resource that is usable: it is not by its
// connection Secret, or it has failed (N74).
var withheld = []xpv1.ConditionReason{failure.ConnectionDetailsLost, failure.ConnectionSecretUnavailable, failure.ExternalResourceFailed}

// withhold makes Ready False for one of these reasons.
func (p *pass) withhold(because failure.Reason, message string) {
	if p.managed.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue {
		p.noteCondition(xpv1.Waiting(because, message))
	}
}

// unset is a generation that Ready has during Observe while it is withheld: a client that sets Ready replaces it.
const unset = -1

// markWithheld prepares for checkWithheld, and returns condition Ready as it is before Observe.
func (p *pass) markWithheld() xpv1.Condition {
	p.setNoted()
	ready := p.managed.GetCondition(xpv1.TypeReady)
	if slices.Contains(withheld, ready.Reason) {
		p.managed.SetConditions(ready.WithObservedGeneration(unset))
	}
	return ready
}

// checkWithheld notes whether Observe left a withheld Ready as it was. One that the client sets stays, since it may report a failure thus.
func (p *pass) checkWithheld(before xpv1.Condition) {
	if p.leftWithheld = p.managed.GetCondition(xpv1.TypeReady).ObservedGeneration == unset; p.leftWithheld {
		p.managed.SetConditions(before)
	}
}

// reportLost reports that the connection Secret lacks keys that the external system returned only once, though all else is
// well. Nothing repairs that: only people know whether the details still exist somewhere. What the lost answer of a create may have
// contained may also come with a resource that is complete.
func (r *Reconciler) reportLost(ctx context.Context, p *pass) outcome {
	lost, err := r.lostKeys(ctx, p)
	if err != nil {
		return failed(ReasonCannotPublish, fmt.Errorf("looking for what the connection Secret lacks: %w", err))
	}
	if len(lost) == 0 || p.managed.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonCreating {
		return flow.Next()
	}
	team := "the connection Secret lacks " + connection.Describe(lost) + ", which cannot be read again: ask your platform team"
	p.withhold(failure.ConnectionDetailsLost, "The connection Secret lacks "+connection.Describe(lost)+".")
	return rejected(ReasonDetailsLost, failure.ForTeam(failure.ConnectionDetailsLost, team, p.lostError(lost)))
}

// lostError contains only advice that can be followed, though no program knows whether the details still exist.
func (p *pass) lostError(lost []string) error {
	ref, _ := resource.ConnectionSecretReference(p.managed)
	text := fmt.Sprintf("secret %s/%s lacks %s, which the external system returned only when the resource was created: ",
		ref.Namespace, ref.Name, connection.Describe(lost))
	if at, current := connection.Recorded(p.managed); !current && at.Name != "" {
		text += fmt.Sprintf("restore secret %s, which the object named before, with its owner reference; otherwise ", at)
	}
	if b, ok := p.managed.(resource.BindableManaged); ok && b.GetClaimReference() != nil {
		text += fmt.Sprintf("copy it from the Secret of claim %s, if that has it; otherwise ", meta.NamespacedNameOf(b.GetClaimReference()))
	}
	if p.rotatable(lost) {
		text += "request new credentials (bowline rotate), or "
	}
	text += "reset it in the external system and add it to the Secret"
	if slices.Contains(lost, AnyKey) {
		return fmt.Errorf("%s if applications need it, then remove the annotation %s", text, AnnotationKeyCreatedKeys)
	}
	return fmt.Errorf("%s, or remove the annotation %s to do without it", text, AnnotationKeyCreatedKeys)
}

// lostKeys returns the keys that the creation returned and the connection Secret lacks, in the API server too, in order. What was
// reported before needs no further read: when the keys are there, the watch of the Secret brings the object back.
func (r *Reconciler) lostKeys(ctx context.Context, p *pass) ([]string, error) {
	created := connection.CreatedKeys(p.managed)
	if _, wanted := resource.ConnectionSecretReference(p.managed); !wanted || len(created) == 0 {
		return nil, nil
	}
	secret, err := p.published, error(nil)
	if secret == nil {
		secret, err = r.secrets.Get(ctx, r.client, p.managed)
	}
	missing := connection.Missing(secret, created)
	if err != nil || len(missing) == 0 || p.ready.Reason == failure.ConnectionDetailsLost {
		return missing, err
	}
	if secret, err = r.secrets.Get(ctx, r.live, p.managed); err != nil {
		return nil, err
	}
	return connection.Missing(secret, created), nil
}

// noteUse reports the ProviderConfigs that use the connection Secret, which names them: admission then refuses to delete the object, also
// while it is paused (N39).
func (r *Reconciler) noteUse(ctx context.Context, p *pass) {
	users, err := []string(nil), error(nil)
	if p.published != nil {
		users = meta.UsersOf(p.published)
	} else if users, err = r.secrets.Users(ctx, r.client, p.managed); err != nil {
		return // it stays as it is
	}
	if len(users) > 0 || p.managed.GetCondition(xpv1.TypeInUse).Status == corev1.ConditionTrue {
		p.noteCondition(xpv1.InUse(users...))
	}
}
