// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// adopt adds our finalizer to an object whose external resource it did not create, and stores its external name (R51, R63,
// R72). It follows update, which labels the external resource: if the process dies between the two, the label shows the owner
// (N23). An object that only observes needs no finalizer: once it may do more it adopts what it observes. A permission
// to create the resource again ends where it exists (N38).
func (r *Reconciler) adopt(ctx context.Context, p *pass) outcome {
	spent := meta.CheckRecreate(p.managed, r.now()) == nil
	held := meta.FinalizerExists(p.managed, Finalizer) || p.onlyObserves()
	if !spent && held && p.annotations[meta.AnnotationKeyExternalName] != "" {
		return flow.Next()
	}
	name := meta.GetExternalName(p.managed)
	return written("adding the finalizer", r.writeMetadata(ctx, p, func(o metav1.Object) {
		if !held {
			meta.AddFinalizer(o, Finalizer)
		}
		meta.SetExternalName(o, name)
		if spent {
			meta.EndRecreate(o)
		}
	}))
}
