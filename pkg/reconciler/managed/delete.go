// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// checkFinalizer ends the pass of an object under deletion that no longer has our finalizer: somebody else's keeps it.
func (r *Reconciler) checkFinalizer(_ context.Context, p *pass) outcome {
	if !meta.FinalizerExists(p.managed, Finalizer) {
		return outcome{end: gone}
	}
	return next()
}

// releaseAbandoned lets an object go that is paused, or whose creation was cut off, if a person asked for it to go without
// its external resource (N31).
func (r *Reconciler) releaseAbandoned(ctx context.Context, p *pass) outcome {
	paused := meta.IsPaused(p.managed) || r.pausedByPolicy(p)
	suspected := r.defaultName == nil && meta.ExternalCreateIncomplete(p.managed)
	if (paused || suspected) && meta.OrphansOnDelete(p.managed) {
		return r.finalize(ctx, p)
	}
	return next()
}

// releaseOrphan lets an object go whose external resource is to stay (R57, N3).
func (r *Reconciler) releaseOrphan(ctx context.Context, p *pass) outcome {
	if !resource.MayDeleteExternal(p.managed) {
		return r.finalize(ctx, p)
	}
	return next()
}

// deleteExternal deletes the external resource and goes on once it is proven gone (R53 to R55). One that is not ours
// is left alone (N24).
func (r *Reconciler) deleteExternal(ctx context.Context, p *pass) outcome {
	if !p.observation.ResourceExists {
		return r.provenGone(p)
	}
	if !p.owns() {
		return next()
	}
	p.managed.SetConditions(xpv1.Deleting())
	external := p.external
	o := r.perform(ctx, p, verbDelete, func(ctx context.Context, mg resource.Managed) (ConnectionDetails, error) {
		return nil, external.Delete(ctx, mg)
	})
	if o.end != goOn {
		return o
	}
	if o := r.observe(ctx, p); o.end != goOn {
		return o
	}
	if p.observation.ResourceExists {
		p.managed.SetConditions(xpv1.Deleting())
		return await(0, "")
	}
	return next()
}

// deleteEnded notes the result of Delete.
func (r *Reconciler) deleteEnded(p *pass, op *operation) outcome {
	if op.err != nil {
		return fail(ReasonCannotDelete, callFailed("deleting", op.err))
	}
	p.noteDeletion()
	return next()
}

// noteDeletion notes that deletion was requested, though the request is repeated until the resource is gone: once per
// process, and not if the object showed it already.
func (p *pass) noteDeletion() {
	shown := p.ready.Reason == xpv1.ReasonDeleting && p.synced.Reason == xpv1.ReasonReconcileSuccess
	if !shown && !p.memory.deleteNoted {
		p.note(event.Normal(ReasonDeleted, "Requested deletion of the external resource "+meta.GetExternalName(p.managed)))
	}
	p.memory.deleteNoted = true
}

// provenGone goes on unless a resource that cannot be seen may still be about to appear (R94, N20, N26).
func (r *Reconciler) provenGone(p *pass) outcome {
	if left := r.graceLeft(p); left > 0 {
		return await(left, waitsToAppear)
	}
	return next()
}

// finalize lets the object go (R54). It is the last step of a deletion.
func (r *Reconciler) finalize(ctx context.Context, p *pass) outcome {
	err := r.writeMetadata(ctx, p, func(o metav1.Object) { meta.RemoveFinalizer(o, Finalizer) })
	switch {
	case apierrors.IsConflict(err):
		return outcome{end: conflict}
	case apierrors.IsNotFound(err), err == nil:
		return outcome{end: gone}
	}
	return fail(ReasonCannotUpdateMR, fmt.Errorf("removing the finalizer: %w", err))
}
