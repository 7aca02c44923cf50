// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// deleteCopies deletes the copies of a deleted target, and revokes consent to all Secrets of the namespace, whatever controls them by
// now: no target may be left when consent is withdrawn. Claims and other targets watch the source, and get consent again.
func (r *Reconciler) deleteCopies(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	var mg resource.BindableManaged
	if kind, known := r.kindOf(ref); known {
		var err error
		if mg, err = r.readManaged(ctx, kind, ref.Name); err != nil {
			return fail("reading the managed resource", err)
		}
	}
	if mg != nil {
		if err := r.copies.Revoke(ctx, mg, p.target.GetNamespace()); err != nil {
			return fail("revoking consent to the connection Secret of the target", err)
		}
	}
	if err := r.copies.Discard(ctx, r.owner(p), mg); err != nil {
		return fail("deleting the connection Secret of the target", err)
	}
	return flow.Next()
}

// checkFinalizer ends the pass over a deleted target that has nothing.
func (r *Reconciler) checkFinalizer(_ context.Context, p *pass) flow.Outcome {
	if !meta.FinalizerExists(p.target, Finalizer) {
		return flow.Vanished()
	}
	return flow.Next()
}

// removeFinalizer lets the deletion of the target finish.
func (r *Reconciler) removeFinalizer(ctx context.Context, p *pass) flow.Outcome {
	_, err := objects.Patch(ctx, r.client, p.target, func(target resource.Target) { meta.RemoveFinalizer(target, Finalizer) })
	if client.IgnoreNotFound(err) != nil {
		return fail("removing the finalizer", err)
	}
	return flow.Vanished()
}
