// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// settlingUpdates is how many updates in a row may leave a difference before it counts as one that no update settles:
// many external systems apply an update a little later than they accept it.
const settlingUpdates = 2

// drifted is true if the object already says that its external resource differs for good.
func (p *pass) drifted() bool {
	return p.managed.GetCondition(xpv1.TypeInSync).Reason == xpv1.ReasonDrifted
}

// reportDrift says whether the external resource is as declared once the pass did what it may, and where it is not
// (N8, P81). It says so once: the message names fields, and their values are in the status.
func (r *Reconciler) reportDrift(_ context.Context, p *pass) outcome {
	if p.observation.ResourceUpToDate && len(p.observation.Drift) == 0 {
		p.memory.updates = 0
		p.setDrift(xpv1.InSync(), nil)
		return next()
	}
	// Drift in what is up to date is such that no update settles it: in a field that cannot change.
	mayYet := !p.observation.ResourceUpToDate && p.allows(xpv1.ManagementActionUpdate)
	if mayYet && p.memory.updates < settlingUpdates && !p.drifted() {
		return next()
	}
	condition := xpv1.Drifted(driftMessage(p.observation))
	if !condition.WithObservedGeneration(p.inSync().ObservedGeneration).Equal(p.inSync()) {
		p.note(event.Warning(ReasonDrifted, errors.New(condition.Message)))
	}
	p.setDrift(condition, p.observation.Drift)
	return next()
}

func (p *pass) inSync() xpv1.Condition { return p.managed.GetCondition(xpv1.TypeInSync) }

func (p *pass) setDrift(c xpv1.Condition, fields []xpv1.FieldDifference) {
	p.managed.SetConditions(c.WithObservedGeneration(p.managed.GetGeneration()))
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
	paths := make([]string, 0, len(o.Drift))
	for _, field := range o.Drift {
		paths = append(paths, field.Path)
	}
	return "The external resource differs from spec.forProvider in " + strings.Join(paths, ", ") + ": see status.drift."
}
