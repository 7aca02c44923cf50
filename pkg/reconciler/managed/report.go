// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// report ends a pass that did what it could with what is wrong all the same: drift, a failure of the external resource, lost
// connection details, or settings that the API server refuses.
func (r *Reconciler) report(ctx context.Context, p *pass) outcome {
	p.reportDrift()
	if p.observation.Failed != nil {
		return failed(ReasonExternalFailed, p.failure())
	}
	if o := r.reportLost(ctx, p); o.End != flow.Continue || p.memory.refusal == nil {
		return o
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
	if updatable && p.memory.updates < settlingUpdates && !p.drifted() {
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

// reportLost reports that the connection Secret lacks keys that the external system returned only once, though all else is
// well. Nothing repairs that: only people know whether the details still exist somewhere.
func (r *Reconciler) reportLost(ctx context.Context, p *pass) outcome {
	lost, err := r.lostKeys(ctx, p)
	if err != nil {
		return failed(ReasonCannotPublish, fmt.Errorf("looking for what the connection Secret lacks: %w", err))
	}
	if len(lost) == 0 {
		return flow.Next()
	}
	ref, _ := resource.ConnectionSecretReference(p.managed)
	return rejected(ReasonDetailsLost, fmt.Errorf("secret %s/%s lacks %s, which the external system returned only when the resource was "+
		"created: copy what is missing from the claim's copy or from the earlier Secret, or reset it in the external system and add it "+
		"by hand; to do without it, remove the annotation %s",
		ref.Namespace, ref.Name, strings.Join(lost, ", "), connection.AnnotationKeyCreatedKeys))
}

// lostKeys returns the keys that the creation returned and the connection Secret lacks, in the API server too, in order.
func (r *Reconciler) lostKeys(ctx context.Context, p *pass) ([]string, error) {
	created := connection.CreatedKeys(p.managed)
	if _, wanted := resource.ConnectionSecretReference(p.managed); !wanted || len(created) == 0 {
		return nil, nil
	}
	secret, err := p.published, error(nil)
	if secret == nil {
		secret, err = r.secrets.Get(ctx, r.client, p.managed)
	}
	if err != nil || len(connection.Missing(secret, created)) == 0 {
		return nil, err
	}
	if secret, err = r.secrets.Get(ctx, r.live, p.managed); err != nil {
		return nil, err
	}
	return connection.Missing(secret, created), nil
}
