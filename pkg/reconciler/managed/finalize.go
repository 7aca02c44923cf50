// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// finalize removes our finalizer, which lets the API server delete the object (R54). It is the last step of a deletion.
func (r *Reconciler) finalize(ctx context.Context, p *pass) outcome {
	err := r.writeMetadata(ctx, p, func(o metav1.Object) { meta.RemoveFinalizer(o, Finalizer) })
	if err == nil || apierrors.IsNotFound(err) {
		return flow.Vanished()
	}
	return written("removing the finalizer", err)
}
