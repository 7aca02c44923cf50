// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// writeStatus stores the status, without secrets, if it changed. If another writer was first, its write brings the object back.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass) (overtaken bool, err error) {
	now, err := treeOf(p.managed)
	if err != nil || reflect.DeepEqual(now["status"], p.status()) {
		return false, err
	}
	if now, err = r.redactConditions(ctx, p, now["status"]); err != nil || reflect.DeepEqual(now["status"], p.status()) {
		return false, err
	}
	was := maps.Clone(now)
	put(was, "status", p.status())
	before := r.newManaged()
	if err := fill(before, was); err != nil {
		return false, err
	}
	err = r.client.Status().Patch(ctx, p.managed, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return true, nil
	}
	if err == nil && section(now["status"], ownership) != nil && section(p.status(), ownership) == nil {
		stored, invalid := treeOf(p.managed)
		p.memory.pruned = p.memory.pruned || invalid == nil && section(stored["status"], ownership) == nil
	}
	return false, client.IgnoreNotFound(err)
}

const lastHandled = "lastHandledReconcileAt"

// handleRequest records in the status which request for a pass this one handled, where the kind has the field.
func (p *pass) handleRequest(o outcome) error {
	token := p.annotations[meta.AnnotationKeyReconcileRequestedAt]
	if token == "" || token == p.memory.handled || o.End == flow.Pause || token == section(p.found.tree(), "status")[lastHandled] {
		return nil
	}
	return p.setStatus(lastHandled, token)
}

// ownStatus returns the fields of every status, those of xpv1.ResourceStatus. The others describe the external resource.
func ownStatus() []string {
	return []string{"conditions", "drift", "secretInputs", credentialsStatus, "bindingPhase", ownership, externalSystem, externalIdentity, lastHandled}
}

// writeFitting stores the status without what the provider reports, which cannot be stored, and reports why like any other outcome.
func (r *Reconciler) writeFitting(ctx context.Context, p *pass, o outcome, unfit error) (_ outcome, overtaken bool, err error) {
	refusal := r.redact(ctx, p, failure.With(failure.StatusRefused, unfit))
	after := r.delay(p, o)
	o = beside(o, refusal)
	if o.End == flow.Reject {
		o.After = after
	}
	if overtaken, err = r.writeOwnStatus(ctx, p, o); overtaken || err != nil {
		return o, overtaken, err // it is reported by the next pass
	}
	if e, news := p.event(o); news {
		p.note(e)
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

// mostStored is the size in bytes that etcd and the API server store of an object by default. Beyond it an error of status 500 is taken to
// mean that the object is too large; below it, that the server cannot store anything, such as without etcd.
const mostStored = 1 << 20

// whyUnfit describes an error about what the provider reports in the status of an object, such as that the schema refuses it or that it is
// too large; nil for an error that has another cause. It leaves out values, which may be secret.
func whyUnfit(mg resource.Managed, err error) error {
	if fields := unfitFields(err); len(fields) > 0 {
		return fmt.Errorf("the schema of this kind refuses what the provider reports in %s, which stays as it was: install the CRD that "+
			"belongs to the provider; if that is installed, report it to the provider's authors (an integer beyond 9223372036854775807 needs "+
			"a field of type string)", strings.Join(fields, ", "))
	}
	_, noJSON := errors.AsType[*json.UnsupportedValueError](err)
	tooLarge := apierrors.IsRequestEntityTooLargeError(err)
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	if ok && answer.ErrStatus.Code == http.StatusInternalServerError && answer.ErrStatus.Reason == metav1.StatusReasonUnknown {
		content, _ := json.Marshal(mg)
		tooLarge = len(content) > mostStored
	}
	if noJSON || tooLarge {
		return fmt.Errorf("what the provider reports cannot be stored, and the status stays as it was: report it to the provider's authors: %w", err)
	}
	return nil
}

// unfitFields returns the fields of the status that an error of the API server is about, a few at most: none for one that is
// not from the schema, such as the refusal of an admission policy.
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
		status := maps.Clone(section(p.found.tree(), "status"))
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
	r.setConditions(p, o)
	return r.writeStatus(ctx, p)
}

// detachedTime bounds writes that must not be cut short when a pass or the process ends.
const detachedTime = 20 * time.Second

// detach returns a context for writing down what was done outside: it outlives the end of the pass.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), detachedTime)
}

// writeMetadata stores what change does to the metadata, and what steps did to the spec, in one write. It is refused if
// another writer wrote to the object since it was read. Spec and status in memory stay as they are.
func (r *Reconciler) writeMetadata(ctx context.Context, p *pass, change func(metav1.Object)) error {
	now, err := treeOf(p.managed)
	if err != nil {
		return err
	}
	base, err := p.withSpec(now, p.stored.tree()["spec"])
	if err != nil {
		return err
	}
	changed, err := p.withSpec(now, p.spec())
	if err != nil {
		return err
	}
	change(changed)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, changed, patch); err != nil {
		return err
	}
	p.takeMetadata(changed)
	p.stored = &reading{built: tree{"spec": p.spec()}}
	return nil
}

// persistence is how often, and how patiently, the result of a creation is written against conflicts and passing errors, ten
// seconds in all: losing it may mean to lose the external resource (R93).
var persistence = wait.Backoff{Steps: 11, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1}

// recordResult stores the result of the creation that this pass began. If another writer wrote to the object meanwhile, it is
// read afresh and the result added; the pass then no longer knows the object as it is, and is overtaken. If another process
// began another creation, the result is not ours to record.
func (r *Reconciler) recordResult(ctx context.Context, p *pass, change func(metav1.Object)) error {
	ctx, cancel := detach(ctx)
	defer cancel()
	pending := meta.GetExternalCreatePending(p.managed)
	target, stored := p.managed, p.annotations
	return retry.OnError(persistence, isRetriable, func() error {
		base, ok := target.DeepCopyObject().(resource.Managed)
		if !ok {
			return fmt.Errorf("%T does not copy to its own type", target)
		}
		base.SetAnnotations(maps.Clone(stored))
		written, err := objects.Patch(ctx, r.client, base, func(mg resource.Managed) { change(mg) })
		if err == nil {
			p.takeMetadata(written)
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		fresh := r.newManaged()
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(p.managed), fresh); err != nil {
			return err
		}
		if fresh.GetUID() != p.managed.GetUID() || meta.GetExternalCreatePending(fresh).After(pending) {
			return errOvertaken
		}
		target, stored, p.overtaken = fresh, fresh.GetAnnotations(), true
		return err
	})
}

// isRetriable is true for errors of the API server that may pass.
func isRetriable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		errors.Is(err, syscall.ECONNREFUSED) || failure.IsAnswerLost(err)
}
