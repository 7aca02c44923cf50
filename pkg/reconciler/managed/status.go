// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
)

// writeStatus stores the status if it changed. If another writer was first, its write brings the object back.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass) (overtaken bool, err error) {
	now, err := treeOf(p.managed)
	if err != nil {
		return false, err
	}
	if reflect.DeepEqual(now["status"], p.before.status) {
		return false, nil
	}
	put(now, "status", p.before.status)
	before := r.newManaged()
	if err := fill(before, now); err != nil {
		return false, err
	}
	err = r.client.Status().Patch(ctx, p.managed, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return true, nil
	}
	return false, client.IgnoreNotFound(err)
}

// ownStatus returns the fields of every status, those of xpv1.ResourceStatus. The others describe the external resource.
func ownStatus() []string { return []string{"conditions", "drift", "secretInputs", "bindingPhase"} }

// writeFitting stores the status of a pass without the fields that the schema does not accept, and reports them like any other
// outcome.
func (r *Reconciler) writeFitting(ctx context.Context, p *pass, o outcome, unfit []string) (_ outcome, overtaken bool, err error) {
	refusal := r.redact(ctx, p, failure.With(failure.StatusRefused, fmt.Errorf("the schema of this kind refuses what the provider reports in "+
		"%s, which stays as it was: install the CRD that belongs to the provider", strings.Join(unfit, ", "))))
	after := r.delay(p, o)
	o = beside(o, refusal)
	if o.End == flow.Reject {
		o.After = after
	}
	if overtaken, err = r.writeOwnStatus(ctx, p, o); overtaken || err != nil {
		return o, overtaken, err // it is reported by the next pass
	}
	if e, news := p.event(o); news {
		r.record(ctx, p, []event.Event{e})
		r.logOutcome(ctx, p, o, news)
	}
	p.memory.unfit = refusal
	return o, false, nil
}

// beside is the outcome together with why the API server refuses the status, nil for nothing.
func beside(o outcome, unfit error) outcome {
	switch {
	case unfit == nil || o.End == flow.Pause:
	case o.End.Bad():
		o.Err = fmt.Errorf("%w; %w", o.Err, unfit)
	default:
		return rejected(ReasonCannotUpdateMR, unfit)
	}
	return o
}

// unfitFields returns the fields of the status that an error of the API server is about, a few at most: none for one that is
// not from the schema, such as the refusal of an admission policy. It leaves out their values, which may be secret.
func unfitFields(invalid error) (fields []string) {
	const most = 5
	answer, ok := errors.AsType[*apierrors.StatusError](invalid)
	if ok && apierrors.IsInvalid(invalid) && answer.ErrStatus.Details != nil {
		for _, cause := range answer.ErrStatus.Details.Causes {
			if strings.HasPrefix(cause.Field, "status.") && !slices.Contains(fields, cause.Field) && len(fields) < most {
				fields = append(fields, cause.Field)
			}
		}
	}
	return fields
}

// writeOwnStatus stores the fields of every status, conditions above all, and leaves the rest as it was before the pass.
func (r *Reconciler) writeOwnStatus(ctx context.Context, p *pass, o outcome) (overtaken bool, err error) {
	err = p.rebuild(func(u tree) {
		status := maps.Clone(section(tree{"status": p.before.status}, "status"))
		if status == nil {
			status = tree{}
		}
		for _, field := range ownStatus() {
			put(status, field, section(u, "status")[field])
		}
		u["status"] = status
	})
	if err != nil {
		return false, err
	}
	p.setConditions(o)
	return r.writeStatus(ctx, p)
}
