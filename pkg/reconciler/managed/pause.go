// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// checkPaused ends the pass of an object that is paused by annotation or by empty policies (R96 to R105). The message of
// a paused object that is being deleted says why it stays (N9).
func (r *Reconciler) checkPaused(_ context.Context, p *pass) outcome {
	because, resume := "", ""
	switch {
	case meta.IsPaused(p.managed):
		because, resume = "the annotation "+meta.AnnotationKeyReconciliationPaused+` is "true"`, "Remove the annotation"
	case r.pausedByPolicy(p):
		because, resume = "managementPolicies are empty", "Add policies"
	default:
		return next()
	}
	if meta.WasDeleted(p.managed) {
		return pause("Deletion waits because " + because + ". " + resume + " to let it go on, or set the annotation " +
			meta.AnnotationKeyOrphanOnDelete + `: "true" to let the object go without its external resource.`)
	}
	return pause("Paused because " + because + ". " + resume + " to resume.")
}

// pausedByPolicy is true for an object whose policies are empty, where policies are supported (R104, R115).
func (r *Reconciler) pausedByPolicy(p *pass) bool {
	return r.policies && p.managed.GetManagementPolicies().Empty()
}
