// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// update stores what the external system chose, and updates a resource that is not as declared, or whose Secrets changed (R24, R40).
func (r *Reconciler) update(ctx context.Context, p *pass) outcome {
	if o := r.lateInitialize(ctx, p); o.End != flow.Continue {
		return o
	}
	if p.observation.ResourceUpToDate && !p.inputs.rotated || !p.allows(xpv1.ManagementActionUpdate) {
		return flow.Next()
	}
	return flow.Run(ctx, p, r.storeSpec, r.giveInputs, r.giveDetails, r.perform(verbUpdate), r.observe, r.publish)
}

// updateEnded records the result of Update. Updates that leave a difference are reported once per change of the spec.
func (r *Reconciler) updateEnded(ctx context.Context, p *pass, op *operation) outcome {
	if op.err != nil {
		return failed(ReasonCannotUpdate, callFailed("updating", op.err))
	}
	p.memory.updates++
	p.memory.unpublished = union(p.memory.unpublished, op.details)
	if len(p.memory.unpublished) > 0 {
		if o := r.publish(ctx, p); o.End != flow.Continue {
			return o
		}
	}
	p.inputsApplied(op.inputs)
	if !p.drifted() || p.inSync().ObservedGeneration != p.managed.GetGeneration() {
		message := "Updated the external resource " + meta.GetExternalName(p.managed)
		if len(p.observation.Drift) > 0 {
			message += ": " + driftPaths(p.observation)
		}
		p.note(event.Normal(ReasonUpdated, message))
	}
	return flow.Next()
}

// takeChosen takes what Observe filled into the spec out of it again, to be judged by lateInitialize.
func (p *pass) takeChosen() error {
	observed, err := treeOf(p.managed)
	if err != nil {
		return err
	}
	p.chosen = section(observed["spec"], "forProvider")
	return p.rebuild(func(u tree) { put(u, "spec", p.spec) })
}

// lateInitialize stores in spec.forProvider what the external system chose for fields that the user left empty (R149,
// R150). A value that the user set stays, and a field that initProvider sets is not taken over, since it would be
// enforced from then on (R146). What the API server refuses to store keeps nothing else from being done: the pass continues
// with the spec as it was, and report reports it.
func (r *Reconciler) lateInitialize(ctx context.Context, p *pass) outcome {
	before := p.memory.refusal
	p.memory.refusal = nil
	if !p.observation.ResourceLateInitialized || !p.allows(xpv1.ManagementActionLateInitialize) {
		return r.storeSpec(ctx, p)
	}
	unfilled := p.spec
	fields, err := p.fillSpec()
	if err != nil {
		return failed(ReasonCannotUpdateMR, fmt.Errorf("late initialization: %w", err))
	}
	if before.stands(p.spec, r.now()) {
		p.memory.refusal = before
	} else if o := r.storeSpec(ctx, p); isRefused(o.Err) {
		p.memory.refusal = &refusal{
			spec:  p.spec,
			err:   r.refusalOf(o.Err, fields, p.spec, unfilled),
			until: r.now().Add(spread(p.poll, p.managed.GetUID())),
		}
	} else {
		return o
	}
	p.spec = unfilled
	if err := p.rebuild(func(u tree) { put(u, "spec", unfilled) }); err != nil {
		return failed(ReasonCannotUpdateMR, fmt.Errorf("late initialization: %w", err))
	}
	return r.storeSpec(ctx, p)
}

// fillSpec completes the spec in memory, which an object without a Go type may lack, and returns the fields that it filled.
func (p *pass) fillSpec() (fields []string, err error) {
	err = p.rebuild(func(u tree) {
		spec := section(u, "spec")
		var filled tree
		filled, fields = parameters.Rules{}.Fill(section(spec, "forProvider"), p.chosen, section(spec, "initProvider"))
		if len(fields) == 0 {
			return
		}
		if spec == nil {
			spec = tree{}
			u["spec"] = spec
		}
		spec["forProvider"] = filled
		p.spec = runtime.DeepCopyJSONValue(u["spec"])
	})
	return fields, err
}

// A refusal is why the API server refuses a spec as late initialization completed it.
type refusal struct {
	spec  any
	err   error
	until time.Time // the next poll
}

// stands is true while another attempt to store the spec would most likely meet the same refusal.
func (f *refusal) stands(spec any, now time.Time) bool {
	return f != nil && now.Before(f.until) && reflect.DeepEqual(spec, f.spec)
}

// isRefused is true for errors that the same object meets again: its schema or an admission policy does not accept it.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// refusalOf is the error about what was refused, with the reason unless that may show a secret value.
func (r *Reconciler) refusalOf(cause error, fields []string, filled, unfilled any) error {
	if r.parameters.Hides(section(filled, "forProvider"), section(unfilled, "forProvider")) {
		cause = errors.New("the API server refuses values that are not shown here")
	}
	return fmt.Errorf("late initialization of %s, which you may set yourself, or leave LateInitialize out of managementPolicies: %w",
		strings.Join(fields, ", "), cause)
}

// storeSpec stores the spec if a step changed it, so that the object shows all that is sent to the external system (R42).
func (r *Reconciler) storeSpec(ctx context.Context, p *pass) outcome {
	if reflect.DeepEqual(p.spec, p.stored) {
		return flow.Next()
	}
	name := meta.GetExternalName(p.managed)
	err := r.writeMetadata(ctx, p, func(metav1.Object) {})
	meta.SetExternalName(p.managed, name) // one that is not stored yet stays in memory
	return written("storing the spec", err)
}
