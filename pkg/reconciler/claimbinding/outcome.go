// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A pass is what the steps of one pass learn and hand on. Objects are carried forward as the API server returned them from
// the last write, since the cache may be behind.
type pass struct {
	claim resource.Claim

	class   resource.Class           // nil where the claim has its managed resource
	planned resource.BindableManaged // what is to be made
	managed resource.BindableManaged

	bound    bool  // both sides name each other and say so
	mistaken error // of the claim, which keeps nothing from working but should be known

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
	waiting                // for something that comes by itself
	refused                // until somebody changes something
	failed                 // try again, later each time
	conflict               // somebody wrote first: read afresh
	gone                   // no object left to write to
)

// An outcome is what a step came to.
type outcome struct {
	end     ending
	reason  xpv1.ConditionReason // of condition Ready where the claim waits or is refused
	message string
	err     error
}

// next goes on to the following step.
func next() outcome { return outcome{end: goOn} }

// await ends the pass well: the claim has to wait.
func await(reason xpv1.ConditionReason, message string) outcome {
	return outcome{end: waiting, reason: reason, message: message}
}

// refuse ends the pass with what a person has to change.
func refuse(reason xpv1.ConditionReason, err error) outcome {
	return outcome{end: refused, reason: reason, message: err.Error(), err: err}
}

// fail ends the pass with an error, to be tried again. That somebody wrote first is nobody's error (R17).
func fail(err error) outcome {
	if apierrors.IsConflict(err) {
		return outcome{end: conflict, err: err}
	}
	return outcome{end: failed, err: err}
}

// vanish ends the pass because there is no claim left to write to.
func vanish() outcome { return outcome{end: gone} }
