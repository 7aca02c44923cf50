// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// update stores what the external system chose, and updates a resource that is not as declared, or whose Secrets changed (R24, R40).
// It takes two observations: the first finds the owner and the differences, and Update does not return the state that the second one
// reports, such as an endpoint that changed; the next poll would report it a poll interval later.
func (r *Reconciler) update(ctx context.Context, p *pass) outcome {
	if o := r.lateInitialize(ctx, p); o.End != flow.Continue {
		return o
	}
	if p.observation.ResourceUpToDate && !p.inputs.rotated && !p.mustSend() || !p.allows(xpv1.ManagementActionUpdate) {
		return flow.Next()
	}
	return flow.Run(ctx, p, r.brakeReplacement, r.storeSpec, r.giveInputs, r.giveDetails, r.perform(verbUpdate), r.observe, r.own, stillExists, r.publish)
}

// brakeReplacement counts a replacement, which deletes data, among the deletions (N39).
func (r *Reconciler) brakeReplacement(ctx context.Context, p *pass) outcome {
	if !p.observation.Replacing || p.ended.verb == verbUpdate {
		return flow.Next()
	}
	return r.awaitBrake(ctx, p)
}

// stillExists leaves a resource that vanished during its update to the next pass: what this one found before is no longer so.
func stillExists(_ context.Context, p *pass) outcome {
	if p.observation.ResourceExists {
		return flow.Next()
	}
	p.noteCondition(xpv1.Unavailable().WithMessage("The external resource does not exist."))
	return flow.Await(0, "The external resource vanished during its update.")
}

// updateEnded records the result of Update. Updates that leave a difference are reported once per change of the spec.
func (r *Reconciler) updateEnded(ctx context.Context, p *pass, op *operation) outcome {
	if op.err != nil {
		if !p.observation.ResourceUpToDate && p.observed { // a call in the background ends before the observation of its pass
			p.setDrift(xpv1.Drifted(driftMessage(p.observation)), p.observation.Drift)
		}
		if !op.rotates.IsZero() {
			r.instruments.kind.Rotated(false)
			return failed(ReasonCannotRotate, fmt.Errorf("rotating the credentials, of which the connection Secret keeps the former ones "+
				"until this succeeds: %w", callFailed("updating", op.err)))
		}
		return failed(ReasonCannotUpdate, callFailed("updating", op.err))
	}
	p.memory.updates++
	p.memory.sent = op.rotates
	p.memory.unpublished = objects.Union(p.memory.unpublished, op.details)
	if len(p.memory.unpublished) > 0 {
		if o := r.publish(ctx, p); o.End != flow.Continue {
			return o
		}
	}
	p.inputsApplied(op.inputs)
	rotated := !op.rotates.IsZero() && len(p.observation.Drift) == 0 // which has an event of its own
	if !rotated && (!p.drifted() || p.inSync().ObservedGeneration != p.managed.GetGeneration() || p.synced.Reason == xpv1.ReasonReconcileError) {
		message := "Updated the external resource " + meta.GetExternalName(p.managed)
		if op.replaces {
			message = "Deleted the external resource " + meta.GetExternalName(p.managed) + ", to create another one"
		}
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
	p.chosenLabels, p.chosenAnnotations = changed(p.labels, p.managed.GetLabels()), changed(p.annotations, p.managed.GetAnnotations())
	return p.rebuild(func(u tree) { put(u, "spec", p.spec()) })
}

// changed returns the labels or annotations that Observe set. Those of the runtime are not the client's to set (R65).
func changed(stored, observed map[string]string) map[string]string {
	set := maps.Clone(observed)
	maps.DeleteFunc(set, func(key, value string) bool {
		is, exists := stored[key]
		return exists && is == value || strings.HasPrefix(key, "crossplane.io/") || strings.HasPrefix(key, "bowline.dev/")
	})
	return set
}

// lateInitialize stores in spec.forProvider what the external system chose for fields that the user left empty (R149,
// R150). A value that the user set stays, and a field that initProvider sets is not taken over, since it would be
// enforced from then on (R146). What the API server refuses to store keeps nothing else from being done: the pass continues
// with the spec as it was, and report reports it.
func (r *Reconciler) lateInitialize(ctx context.Context, p *pass) outcome {
	before := p.memory.refusal
	p.memory.refusal = nil
	if !p.observation.ResourceLateInitialized || !p.allows(xpv1.ManagementActionLateInitialize) {
		p.chosenLabels, p.chosenAnnotations = nil, nil
		return r.storeSpec(ctx, p)
	}
	none := filling{spec: p.spec()}
	fields, err := p.fillSpec()
	if err != nil {
		return failed(ReasonCannotUpdateMR, fmt.Errorf("late initialization: %w", err))
	}
	all := filling{p.spec(), p.chosenLabels, p.chosenAnnotations}
	keys := all.keys()
	nothing := attempt{filling: none, refused: slices.Concat(fields, keys), rest: all}
	switch {
	case before.stands(all, r.now()):
		p.memory.refusal = before
		return r.storeFilling(ctx, p, nothing)
	case len(fields) == 0 || len(keys) == 0:
		return r.storeFilling(ctx, p, attempt{filling: all}, nothing)
	}
	specOnly := filling{spec: all.spec}
	return r.storeFilling(ctx, p, attempt{filling: all},
		attempt{filling: filling{none.spec, all.labels, all.annotations}, refused: fields, rest: specOnly},
		attempt{filling: specOnly, refused: keys, rest: all}, nothing)
}

// An attempt stores a filling, after the API server refused more than that.
type attempt struct {
	filling
	refused []string // what it leaves out
	rest    filling  // what the next pass would store
}

// storeFilling makes the first attempt that the API server accepts, and remembers what it refuses. The last, which stores nothing of it, is
// not refused.
func (r *Reconciler) storeFilling(ctx context.Context, p *pass, attempts ...attempt) (o outcome) {
	var cause error
	all, none := attempts[0], attempts[len(attempts)-1]
	for _, a := range attempts {
		if err := p.rebuild(func(u tree) { put(u, "spec", a.spec) }); err != nil {
			return failed(ReasonCannotUpdateMR, fmt.Errorf("late initialization: %w", err))
		}
		p.derived, p.chosenLabels, p.chosenAnnotations = a.spec, a.labels, a.annotations
		o = r.storeSpec(ctx, p)
		switch {
		case isRefused(o.Err):
			cause = cmp.Or(cause, o.Err)
			continue
		case cause != nil:
			until := r.now().Add(spread(p.poll, p.managed.GetUID()))
			p.memory.refusal = &refusal{a.rest, r.refusalOf(cause, a.refused, all.spec, none.spec), until}
		}
		return o
	}
	return o
}

// A filling is what late initialization is to store: the completed spec, labels and annotations.
type filling struct {
	spec                any
	labels, annotations map[string]string
}

// keys describes the labels and annotations, without their values.
func (f filling) keys() (keys []string) {
	for what, set := range map[string]map[string]string{"label ": f.labels, "annotation ": f.annotations} {
		for key := range set {
			keys = append(keys, what+key)
		}
	}
	slices.Sort(keys)
	return keys
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
		p.derived = runtime.DeepCopyJSONValue(u["spec"])
	})
	return fields, err
}

// A refusal is why the API server refuses what late initialization completed.
type refusal struct {
	filling
	err   error
	until time.Time // the next poll
}

// stands is true while another attempt to store the same would most likely meet the same refusal.
func (f *refusal) stands(all filling, now time.Time) bool {
	return f != nil && now.Before(f.until) && reflect.DeepEqual(all.spec, f.spec) && maps.Equal(all.labels, f.labels) &&
		maps.Equal(all.annotations, f.annotations)
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
	same := p.derived == nil || reflect.DeepEqual(p.derived, p.stored.tree()["spec"])
	if same && len(p.chosenLabels)+len(p.chosenAnnotations) == 0 {
		return flow.Next()
	}
	name := meta.GetExternalName(p.managed)
	err := r.writeMetadata(ctx, p, func(o metav1.Object) {
		o.SetLabels(objects.Union(o.GetLabels(), p.chosenLabels))
		o.SetAnnotations(objects.Union(o.GetAnnotations(), p.chosenAnnotations))
	})
	if err == nil {
		p.chosenLabels, p.chosenAnnotations = nil, nil
	}
	meta.SetExternalName(p.managed, name) // one that is not stored yet stays in memory
	return written("storing the spec", err)
}
