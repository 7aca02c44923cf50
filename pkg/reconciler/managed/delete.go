// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		return r.release(ctx, p, "since it does not belong to the object")
	}
	o := flow.Run(ctx, p, r.perform(verbDelete), r.observe)
	if o.End == flow.Continue && p.observation.ResourceExists {
		return flow.Await(0, "")
	}
	return o
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
	err := r.writeMetadata(ctx, p, func(o metav1.Object) { meta.RemoveFinalizer(o, Finalizer) })
	switch {
	case err == nil:
		return r.awaitFinalizers(ctx, p)
	case apierrors.IsNotFound(err):
		return flow.Vanished()
	}
	return written("removing the finalizer", err)
}

// release is finalize for an object whose external resource stays, which people learn here for the last time.
func (r *Reconciler) release(ctx context.Context, p *pass, because string) outcome {
	o := r.finalize(ctx, p)
	name := meta.GetExternalName(p.managed)
	created := name != "" || meta.ExternalCreateIncomplete(p.managed)
	if !created || meta.FinalizerExists(p.managed, Finalizer) {
		return o
	}
	name = cmp.Or(name, "that an interrupted create may have left behind")
	e := event.Normal(ReasonOrphaned, fmt.Sprintf("The external resource %s is not deleted, %s.", name, because))
	r.logOf(ctx, p.managed).Info(e.Message)
	p.note(e)
	return o
}
