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
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q does not publish connection details: ask your platform team "+
			"to set its spec.writeConnectionSecretToRef", ref.Kind, ref.Name))
	}
	source, err := r.copies.Source(ctx, p.managed)
	if err != nil {
		return fail("reading the connection details of the managed resource", err)
	}
	if source == nil {
		return refuse(xpv1.ReasonConnecting, failure.With(failure.WaitingForReferences, fmt.Errorf("managed resource %s %q has published no "+
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
	if err != nil {
		return fail("naming the connection Secret of the target", err)
	}
	p.target = target
	return flow.Next()
}

// copySecret requests the copy of an allowed target, and reports what keeps it from being created or complete (R297, R298, R302).
func (r *Reconciler) copySecret(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	secret, err := r.copies.Copy(ctx, r.owner(p), p.managed, r.confirm(p, true))
	switch {
	case copies.IsBlocked(err):
		r.log.V(1).Info("The target cannot have its Secret", "target", client.ObjectKeyFromObject(p.target), "cause", errors.Unwrap(err))
		return refuse(xpv1.ReasonConnecting, err)
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
