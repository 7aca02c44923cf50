// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// adopt makes sure that an object whose external resource we did not create has our finalizer, and that every object
// shows its external name, and where its connection details are published (R51, R63, R72). It follows update, which labels
// the resource as ours: if the process dies between the two, the label tells (N23). An object that only looks holds nothing,
// and so needs no finalizer: when it is let do more it adopts what it looked at. A creation whose result was lost has one
// now: the resource is there (N36).
func (r *Reconciler) adopt(ctx context.Context, p *pass) outcome {
	found := meta.ExternalCreateUnacknowledged(p.managed) && !p.mustReplay()
	held := meta.FinalizerExists(p.managed, Finalizer) || p.onlyLooks()
	noted := p.published == nil || publishedTo(p.managed).Name != ""
	if !found && held && noted && p.annotations[meta.AnnotationKeyExternalName] != "" {
		return next()
	}
	name := meta.GetExternalName(p.managed)
	err := r.writeMetadata(ctx, p, func(o metav1.Object) {
		if !held {
			meta.AddFinalizer(o, Finalizer)
		}
		meta.SetExternalName(o, name)
		p.notePublished(o)
		if found {
			meta.SetExternalCreateSucceeded(o, r.now())
		}
	})
	if apierrors.IsConflict(err) {
		return outcome{end: conflict}
	}
	if err != nil {
		return fail(ReasonCannotUpdateMR, fmt.Errorf("adding the finalizer: %w", err))
	}
	return next()
}
