// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// checkSource checks that the managed resource has published connection details (R301). Messages do not name that Secret.
func (r *Reconciler) checkSource(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	if _, declared := resource.ConnectionSecretReference(p.managed); !declared {
		return flow.RejectedAs(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q does not publish connection details: ask your platform team "+
			"to set its spec.writeConnectionSecretToRef", ref.Kind, ref.Name))
	}
	source, err := r.copies.Source(ctx, p.managed)
	if err != nil {
		return fail("reading the connection details of the managed resource", err)
	}
	if source == nil {
		return flow.RejectedAs(xpv1.ReasonConnecting, failure.With(failure.WaitingForReferences, fmt.Errorf("managed resource %s %q has published no "+
			"connection details yet: wait until it does; if it lasts, ask your platform team", ref.Kind, ref.Name)))
	}
	return flow.Next()
}

// prepare gives a target that names no Secret its own UID as the name (K73), and adds the finalizer, in one write before anything is
// copied.
func (r *Reconciler) prepare(ctx context.Context, p *pass) flow.Outcome {
	to := p.target.GetWriteConnectionSecretToReference()
	named := to != nil && to.Name != ""
	if named && meta.FinalizerExists(p.target, Finalizer) {
		return flow.Next()
	}
	target, err := objects.Patch(ctx, r.client, p.target, func(target resource.Target) {
		meta.AddFinalizer(target, Finalizer)
		if !named {
			target.SetWriteConnectionSecretToReference(&xpv1.LocalSecretReference{Name: string(target.GetUID())})
		}
	})
	if err == nil {
		p.target = target
	}
	return fail("naming the connection Secret of the target", err)
}

// copySecret requests the copy of an allowed target, and reports what keeps it from being created or complete (R297, R298, R302).
func (r *Reconciler) copySecret(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	secret, err := r.copies.Copy(ctx, r.owner(p), p.managed, r.confirm(p, true))
	switch {
	case copies.IsBlocked(err):
		r.log.V(1).Info("The target cannot have its Secret", "target", client.ObjectKeyFromObject(p.target), "cause", errors.Unwrap(err))
		return flow.RejectedAs(xpv1.ReasonConnecting, err)
	case err != nil:
		return fail("writing the connection Secret of the target", err)
	}
	if secret.Created {
		p.Note(ReasonConnected, fmt.Sprintf("Created Secret %q with the connection details of managed resource %s %q.",
			p.target.GetWriteConnectionSecretToReference().Name, ref.Kind, ref.Name))
	}
	p.Mistake = secret.Problem
	return flow.Next()
}

func (r *Reconciler) owner(p *pass) copies.Owner { return copies.Target(p.target, r.targetKind) }

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
	return fail("deleting the connection Secret of the target", r.copies.Discard(ctx, r.owner(p), mg))
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
