// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A pass is what the steps of one pass learn and hand on. Objects are carried forward as the API server returned them from
// the last write, since the cache may be behind.
type pass struct {
	target  resource.Target
	managed resource.BindableManaged
	source  *corev1.Secret // the connection Secret of the managed resource
	copy    *corev1.Secret // the target's

	certain  bool  // that the managed resource consents, as the API server has it
	mistaken error // what keeps nothing from working but should be known
	happened []event.Event
}

func (p *pass) note(reason event.Reason, message string) {
	p.happened = append(p.happened, event.Normal(reason, message))
}

// A step does one thing and returns an outcome; run stops at the first that does not go on. Steps never write conditions,
// emit events or choose when to come back.
type step func(context.Context, *pass) outcome

func run(ctx context.Context, p *pass, steps []step) outcome {
	for _, do := range steps {
		if o := do(ctx, p); o.end != goOn {
			return o
		}
	}
	return next()
}

// ending says what becomes of a pass after a step.
type ending int

const (
	goOn     ending = iota // to the next step; after the last one: all is well
	refused                // until something changes
	failed                 // try again, later each time
	conflict               // somebody wrote first: read afresh
	gone                   // nothing to write to, or nothing of ours
)

// An outcome is what a step came to.
type outcome struct {
	end    ending
	reason xpv1.ConditionReason // of condition Ready where the target is refused
	err    error
}

// next goes on to the following step.
func next() outcome { return outcome{end: goOn} }

// refuse ends the pass with what has to change.
func refuse(reason xpv1.ConditionReason, err error) outcome {
	return outcome{end: refused, reason: reason, err: err}
}

// fail ends the pass with an error, to be tried again. That somebody wrote first is nobody's error (R17).
func fail(err error) outcome {
	if apierrors.IsConflict(err) {
		return outcome{end: conflict, err: err}
	}
	return outcome{end: failed, err: err}
}

// vanish ends the pass because there is nothing left to write to, or because the target is somebody else's.
func vanish() outcome { return outcome{end: gone} }
