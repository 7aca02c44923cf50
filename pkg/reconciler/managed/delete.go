// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// deleteExternal deletes the external resource and continues once it is proven gone (R53 to R55). One that does not belong to
// the object is left alone (N24).
func (r *Reconciler) deleteExternal(ctx context.Context, p *pass) outcome {
	if !p.observation.ResourceExists {
		return r.awaitAppearance(p) // (R94)
	}
	if !p.owns() {
		return flow.Next()
	}
	p.managed.SetConditions(xpv1.Deleting())
	if o := flow.Run(ctx, p, r.perform(verbDelete), r.observe); o.End != flow.Continue {
		return o
	}
	if p.observation.ResourceExists {
		p.managed.SetConditions(xpv1.Deleting())
		return flow.Await(0, "")
	}
	return flow.Next()
}

// deleteEnded records the result of Delete.
func (r *Reconciler) deleteEnded(p *pass, op *operation) outcome {
	if op.err != nil {
		return failed(ReasonCannotDelete, callFailed("deleting", op.err))
	}
	// The request is repeated until the resource is gone and noted once, unless the object showed it already.
	shown := p.ready.Reason == xpv1.ReasonDeleting && p.synced.Reason == xpv1.ReasonReconcileSuccess
	if !shown && !p.memory.deleteNoted {
		p.note(event.Normal(ReasonDeleted, "Requested deletion of the external resource "+meta.GetExternalName(p.managed)))
	}
	p.memory.deleteNoted = true
	return flow.Next()
}

// finalize removes our finalizer, which lets the API server delete the object (R54). It is the last step of a deletion.
func (r *Reconciler) finalize(ctx context.Context, p *pass) outcome {
	err := r.writeMetadata(ctx, p, func(o metav1.Object) { meta.RemoveFinalizer(o, Finalizer) })
	if err == nil || apierrors.IsNotFound(err) {
		return flow.Vanished()
	}
	return written("removing the finalizer", err)
}
