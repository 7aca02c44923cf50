// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// checkPaused ends the pass of an object that is paused (R96 to R105). The message of a paused object that is being
// deleted says why it stays (N9).
func (r *Reconciler) checkPaused(_ context.Context, p *pass) outcome {
	switch {
	case !meta.IsPaused(p.managed):
		return next()
	case meta.WasDeleted(p.managed):
		return pause("Deletion waits because the annotation " + meta.AnnotationKeyReconciliationPaused +
			` is "true". Remove the annotation to let it go on.`)
	default:
		return pause("The annotation " + meta.AnnotationKeyReconciliationPaused + ` is "true". Remove it to resume.`)
	}
}
