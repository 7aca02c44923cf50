// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/event"
)

// writeStatus stores the status if it changed. If somebody else wrote first, their write brings the object back.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass) (overtaken bool, err error) {
	now, err := treeOf(p.managed)
	if err != nil {
		return false, err
	}
	status := now["status"]
	if reflect.DeepEqual(status, p.status) {
		return false, nil
	}
	patch, err := statusPatch(p.status, status, p.managed.GetResourceVersion())
	if err != nil {
		return false, err
	}
	err = r.client.Status().Patch(ctx, p.managed, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsConflict(err) {
		return true, nil
	}
	return false, client.IgnoreNotFound(err)
}

// statusPatch is a merge patch from one status to another, refused unless the object is at the resource version.
func statusPatch(from, to any, resourceVersion string) ([]byte, error) {
	before, err := json.Marshal(map[string]any{"status": from})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(map[string]any{"status": to, "metadata": map[string]any{"resourceVersion": resourceVersion}})
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(before, after)
}

// ownStatus returns the fields of every status, those of xpv1.ResourceStatus. The others tell of the external resource.
func ownStatus() []string { return []string{"conditions", "drift", "secretInputs", "bindingPhase"} }

// writeFitting stores the status of a pass without the fields that the schema does not take, and tells of them as of any other
// outcome.
func (r *Reconciler) writeFitting(ctx context.Context, p *pass, o outcome, unfit []string) (told outcome, overtaken bool, err error) {
	refusal := r.redact(ctx, p, fmt.Errorf("the schema of this kind refuses what the provider tells in %s, which stays as it was: "+
		"install the CRD that belongs to the provider", strings.Join(unfit, ", ")))
	after := r.delay(p, o)
	o = o.beside(refusal)
	if o.end == rejected {
		o.after = after
	}
	if overtaken, err = r.writeOwnStatus(ctx, p, o); overtaken || err != nil {
		return o, overtaken, err // nothing says that it was told
	}
	if e, news := o.event(p); news {
		r.record(ctx, p, []event.Event{e})
		r.logOutcome(ctx, p, o, news)
	}
	p.memory.unfit = refusal
	return o, false, nil
}

// beside is the outcome together with what the API server has against the status, nil for nothing.
func (o outcome) beside(unfit error) outcome {
	switch {
	case unfit == nil || o.end == paused:
	case o.end.bad():
		o.err = fmt.Errorf("%w; %w", o.err, unfit)
	default:
		return reject(ReasonCannotUpdateMR, unfit)
	}
	return o
}

// unfitFields returns the fields of the status that an error of the API server is about, a few at most: none for one that is
// not from the schema, such as the refusal of an admission policy. It leaves out their values, which may be nobody's business.
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

// writeOwnStatus stores what every status has, conditions above all, and leaves the rest as it was before the pass.
func (r *Reconciler) writeOwnStatus(ctx context.Context, p *pass, o outcome) (overtaken bool, err error) {
	err = p.rebuild(func(u tree) {
		status := maps.Clone(section(tree{"status": p.status}, "status"))
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
	p.setConditions(o.synced())
	return r.writeStatus(ctx, p)
}
