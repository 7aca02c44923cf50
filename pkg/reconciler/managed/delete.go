// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// announceAfter is when an object that is being deleted shows that, although its first pass has not ended.
const announceAfter = 2 * time.Second

// announceDeletion stores condition Deleting while the first pass of a deletion waits for an external system that does not answer. Other
// passes end before that, and store it then. The write, which the end of the pass then repeats, is guarded like any other.
func (r *Reconciler) announceDeletion(ctx context.Context, mg resource.Managed) (cancel func() bool) {
	ready := mg.GetCondition(xpv1.TypeReady)
	if !meta.WasDeleted(mg) || ready.Reason == xpv1.ReasonDeleting {
		return func() bool { return false }
	}
	read := mg.DeepCopyObject().(resource.Managed)
	return time.AfterFunc(announceAfter, func() { // the end of the pass reports an error of the API server
		_, _ = objects.PatchStatus(ctx, r.client, read, func(o resource.Managed) { flow.Set(o, xpv1.Deleting(), ready) })
	}).Stop
}

// guardDeletion is guard for an object under deletion. It also removes the finalizer of one whose external resource is to stay.
func (r *Reconciler) guardDeletion(ctx context.Context, p *pass) outcome {
	return flow.Run(ctx, p, r.checkFinalizer, r.awaitOperation, r.releaseAbandoned, r.readReferences, r.checkPaused, r.releaseOrphan,
		r.checkPolicies)
}

// checkFinalizer ends the pass of an object under deletion that has our finalizer no more.
func (r *Reconciler) checkFinalizer(ctx context.Context, p *pass) outcome {
	if meta.FinalizerExists(p.managed, Finalizer) {
		return flow.Next()
	}
	return r.awaitFinalizers(ctx, p)
}

// releaseAbandoned removes the finalizer if the user asked to orphan the external resource, in whatever state it is (N31).
func (r *Reconciler) releaseAbandoned(ctx context.Context, p *pass) outcome {
	if meta.OrphansOnDelete(p.managed) {
		return r.release(ctx, p, "as the annotation "+meta.AnnotationKeyOrphanOnDelete+" requests")
	}
	return flow.Next()
}

// releaseOrphan removes the finalizer of an object whose policies keep its external resource (R57, N3).
func (r *Reconciler) releaseOrphan(ctx context.Context, p *pass) outcome {
	if !resource.MayDeleteExternal(p.managed) {
		return r.release(ctx, p, "since the policies of the object do not permit its deletion")
	}
	return flow.Next()
}

// awaitFinalizers waits until ours is the last finalizer: what added another one may still need the external resource (N37).
func (r *Reconciler) awaitFinalizers(_ context.Context, p *pass) outcome {
	return flow.AwaitFinalizers(p.managed, Finalizer)
}

const (
	dependentsPatience = 5 * time.Minute // for objects that refer to the deleted one and are being deleted, too
	dependentsPoll     = 5 * time.Second // without a wakeup, which those of another process do not cause
)

// awaitDependents waits until objects that refer to this one are deleted, if they are being deleted too: most external systems
// refuse another order. It does not wait for what cannot end, nor for ever, unless a person has to resume the others (N32, N39).
func (r *Reconciler) awaitDependents(ctx context.Context, p *pass) outcome {
	self := r.dependent(client.ObjectKeyFromObject(p.managed))
	since := p.managed.GetDeletionTimestamp().Time
	if p.memory.dependentsPaused.After(since) {
		since = p.memory.dependentsPaused
	}
	left := dependentsPatience - r.now().Sub(since)
	if left > 0 && r.queue.Load() != nil { // where no controller runs, no other object is reconciled
		first, found, err := r.references.FirstUnresolved(ctx, self)
		if err != nil {
			return failed(ReasonCannotDelete, failure.With(failure.InternalError, fmt.Errorf("looking for objects that may refer to this one: %w", err)))
		}
		if found {
			return flow.AwaitFor(failure.WaitingForDependents, shortestPoll, "Deletion waits until the references of other objects that are being "+
				"deleted are known, such as "+watch.Names(first)+".")
		}
	}
	live := r.live
	if p.memory.failures > 0 {
		live = nil // once is enough: a watch that was behind has caught up
	}
	deleting, stuck, err := r.references.Deleting(ctx, self, r.client, live, func(o client.Object) bool {
		if mg, ok := unstructured.As[resource.Managed](o); ok && xpv1.FailureOf(mg).Reason == failure.DeletionsPaused {
			p.memory.dependentsPaused, left = r.now(), dependentsPatience
		}
		return needsIntervention(o)
	})
	if err != nil {
		return failed(ReasonCannotDelete, failure.With(failure.InternalError, fmt.Errorf("looking for objects that refer to this one: %w", err)))
	}
	if len(deleting) > 0 && left <= 0 {
		stuck, deleting = append(stuck, deleting...), nil
	}
	if len(stuck) > 0 && !p.memory.disorderNoted {
		p.note(event.Warning(ReasonDisorder, errors.New("not waiting any longer for objects that refer to this one: "+watch.Names(stuck...))))
		p.memory.disorderNoted = true
	}
	if len(deleting) == 0 {
		return flow.Next()
	}
	r.references.AwaitDeletion(self, deleting)
	return flow.AwaitFor(failure.WaitingForDependents, min(left, dependentsPoll),
		"Deletion waits for objects that refer to this one and are being deleted, too: "+watch.Names(deleting...)+".")
}

// needsIntervention is true for an object whose deletion continues only when a person acts.
func needsIntervention(o client.Object) bool {
	mg, ok := unstructured.As[resource.Managed](o)
	if !ok {
		return meta.IsPaused(o)
	}
	reason := xpv1.FailureOf(mg).Reason
	interrupted := meta.ExternalCreateIncomplete(o) && reason == failure.CreateInterrupted || reason == failure.ExternalNameLost
	return meta.IsPaused(o) || mg.GetManagementPolicies().Empty() || interrupted
}

// deleteExternal deletes the external resource, unless it is of another owner, and continues once it is gone (R53 to R55, N24).
func (r *Reconciler) deleteExternal(ctx context.Context, p *pass) outcome {
	if o := r.checkSystem(p); o.End != flow.Continue {
		return o
	}
	if !p.observation.ResourceExists {
		return r.awaitAppearance(p) // an interrupted create may still appear (R94)
	}
	switch {
	case p.owns():
	case p.isReplaced():
		return r.release(ctx, p, fmt.Sprintf("since it has the id %s, and the one that belonged to the object had the id %s",
			p.observation.ID, p.knownIdentity().ID))
	case p.isUnlabelled(): // released, it would be left behind without a trace
		return rejected(ReasonCannotDelete, p.unproven())
	default:
		return r.release(ctx, p, "since it does not belong to the object")
	}
	o := flow.Run(ctx, p, r.awaitUsers, r.awaitBrake, r.perform(verbDelete), r.observe)
	if o.End == flow.Continue && p.observation.ResourceExists {
		return flow.Await(0, "")
	}
	if o.End == flow.Continue {
		return r.checkSystem(p)
	}
	return o
}

// awaitUsers waits until no ProviderConfig uses the connection Secret: one that began to do so a moment before the deletion was not in
// condition InUse yet, which admission reads (N39).
func (r *Reconciler) awaitUsers(ctx context.Context, p *pass) outcome {
	if p.memory.deleteNoted || p.ended.verb == verbDelete {
		return flow.Next()
	}
	users, err := r.secrets.Users(ctx, r.live, p.managed)
	if err != nil {
		return failed(ReasonCannotDelete, failure.With(failure.InternalError, fmt.Errorf("checking what uses the connection Secret: %w", err)))
	}
	if len(users) == 0 {
		return flow.Next()
	}
	return flow.AwaitFor(failure.ExternalResourceInUse, 0, fmt.Sprintf("Deletion waits: the connection Secret is used by %s. Delete what uses "+
		"it first, or let that use another one. To keep the external resource, set the annotation %s: \"true\".",
		strings.Join(users, ", "), meta.AnnotationKeyOrphanOnDelete))
}

// awaitBrake ends the pass while a mass deletion is paused. A deletion that began is repeated until the resource is gone (N39).
func (r *Reconciler) awaitBrake(ctx context.Context, p *pass) outcome {
	if r.brake == nil || p.memory.deleteNoted || p.memory.deleteAllowed || p.ended.verb == verbDelete {
		return flow.Next()
	}
	paused, err := r.brake.AllowDeletion(ctx, p.managed)
	switch {
	case err != nil:
		return failed(ReasonCannotDelete, failure.With(failure.InternalError, fmt.Errorf("checking whether deletions are paused: %w", err)))
	case paused == "":
		p.memory.deleteAllowed = true // a repeated attempt is not counted again
		return flow.Next()
	case xpv1.FailureOf(p.managed).Reason != failure.DeletionsPaused:
		p.note(event.Warning(ReasonDeletionsPaused, errors.New(paused)))
	}
	return flow.AwaitFor(failure.DeletionsPaused, 0, paused)
}

// deleteEnded records the result of Delete.
func (r *Reconciler) deleteEnded(p *pass, op *operation) outcome {
	if op.err != nil {
		return failed(ReasonCannotDelete, callFailed("deleting", op.err))
	}
	if !p.memory.deleteNoted { // the request is repeated until the resource is gone
		p.note(event.Normal(ReasonDeleted, "Requested deletion of the external resource "+meta.GetExternalName(p.managed)))
	}
	p.memory.deleteNoted = true
	return flow.Next()
}

// finalize removes our finalizer, which lets the API server delete the object (R54). It is the last step of a deletion.
func (r *Reconciler) finalize(ctx context.Context, p *pass) outcome {
	if r.finalizer != nil {
		if o := r.extend(p, resource.IgnoreNotFound(r.finalizer.RemoveFinalizer(ctx, p.managed))); o.End != flow.Continue {
			return o
		}
	}
	err := r.writeMetadata(ctx, p, func(o metav1.Object) { meta.RemoveFinalizer(o, Finalizer) })
	switch {
	case err == nil:
		return r.awaitFinalizers(ctx, p)
	case apierrors.IsNotFound(err):
		return flow.Vanished()
	}
	return written("removing the finalizer", err)
}

// release is finalize for an object whose external resource stays, which this event reports.
func (r *Reconciler) release(ctx context.Context, p *pass, because string) outcome {
	o := r.finalize(ctx, p)
	name := meta.GetExternalName(p.managed)
	created := name != "" || meta.ExternalCreateIncomplete(p.managed)
	if !created || meta.FinalizerExists(p.managed, Finalizer) {
		return o
	}
	name = cmp.Or(name, "that an interrupted create may have left behind")
	if in := p.knownSystem(); in.ID != "" {
		name += " in external system " + in.String()
	}
	p.note(event.Normal(ReasonOrphaned, fmt.Sprintf("The external resource %s is not deleted, %s.", name, because)))
	return o
}
