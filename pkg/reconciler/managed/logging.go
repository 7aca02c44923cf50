// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Levels of the log, above 0, which is what a person should see.
const (
	logRepeats = 1 // what was said before, and what events say
	logPasses  = 2 // the end of each pass
)

// logOf is the logger of what a pass does with an object. Every line names the object, its external name and the pass, which
// spans and the lines of controller-runtime name, too.
func (r *Reconciler) logOf(ctx context.Context, mg resource.Managed) logr.Logger {
	name := mg.GetName()
	if namespace := mg.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return r.log.WithValues("object", name, "externalName", meta.GetExternalName(mg), "pass", passID(ctx))
}

// logEvent logs what an event tells, for those who watch the log only.
func (r *Reconciler) logEvent(ctx context.Context, p *pass, e event.Event) {
	if r.log.V(logRepeats).Enabled() {
		r.logOf(ctx, p.managed).V(logRepeats).Info("Event", "type", e.Type, "reason", e.Reason, "message", e.Message)
	}
}

// logOutcome logs how a pass ended: errors for everybody to see, but once per change.
func (r *Reconciler) logOutcome(ctx context.Context, p *pass, o outcome, news bool) {
	level := logPasses
	if o.end.bad() {
		level = logRepeats
		if news {
			level = 0
		}
	}
	if !r.log.V(level).Enabled() {
		return
	}
	log := r.logOf(ctx, p.managed).V(level)
	if o.end.bad() {
		log.Info("Cannot reconcile", "outcome", o.end.String(), "reason", o.reason, "error", o.err.Error())
		return
	}
	log.Info("Reconciled", "outcome", o.end.String())
}
