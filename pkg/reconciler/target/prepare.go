// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// prepare gives a target that names no Secret its own UID as the name (K73), and keeps it from disappearing before its copy did.
// Both are one write, done before anything is copied.
func (r *Reconciler) prepare(ctx context.Context, p *pass) outcome {
	to := p.target.GetWriteConnectionSecretToReference()
	named := to != nil && to.Name != ""
	if named && meta.FinalizerExists(p.target, Finalizer) {
		return next()
	}
	target, err := write(ctx, r, p.target, func(target resource.Target) {
		meta.AddFinalizer(target, Finalizer)
		if !named {
			target.SetWriteConnectionSecretToReference(&xpv1.LocalSecretReference{Name: string(target.GetUID())})
		}
	})
	if err != nil {
		return fail(fmt.Errorf("naming the connection Secret of the target: %w", err))
	}
	p.target = target
	return next()
}
