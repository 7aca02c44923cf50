// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// guard ends the pass of an object that must not be reconciled now: a call runs, it is paused, or its policies cannot be followed.
func (r *Reconciler) guard(ctx context.Context, p *pass) outcome {
	return flow.Run(ctx, p, r.awaitOperation, r.checkPaused, r.checkPolicies)
}

// checkPaused ends the pass of an object that is paused by annotation or by empty policies (R96 to R105, N9).
func (r *Reconciler) checkPaused(_ context.Context, p *pass) outcome {
	because, resume := "", ""
	switch {
	case meta.IsPaused(p.managed):
		because, resume = "the annotation "+meta.AnnotationKeyReconciliationPaused+` is "true"`, "Remove the annotation"
	case r.pausedByPolicy(p):
		because, resume = "managementPolicies are empty", "Add policies"
	default:
		return flow.Next()
	}
	if meta.WasDeleted(p.managed) {
		return flow.Paused(ReasonPaused, "Deletion is paused because "+because+". "+resume+" to resume it, or set the annotation "+
			meta.AnnotationKeyOrphanOnDelete+`: "true" to delete the object and keep its external resource.`)
	}
	return flow.Paused(ReasonPaused, "Paused because "+because+". "+resume+" to resume.")
}

// pausedByPolicy is true for an object whose policies are empty, where policies are supported (R104, R115).
func (r *Reconciler) pausedByPolicy(p *pass) bool {
	return r.policies && p.managed.GetManagementPolicies().Empty()
}

// isPaused is true for an object that is paused either way.
func (r *Reconciler) isPaused(p *pass) bool { return meta.IsPaused(p.managed) || r.pausedByPolicy(p) }

// checkPolicies rejects policies that cannot be followed (R115, R134).
func (r *Reconciler) checkPolicies(_ context.Context, p *pass) outcome {
	policies := p.managed.GetManagementPolicies()
	if !r.policies && !policies.Allow(xpv1.ManagementActionAll) {
		return rejected(ReasonInvalidPolicy, fmt.Errorf("managementPolicies %q are not supported by this provider: "+
			`remove them, or set ["*"]`, policies))
	}
	if !policies.Allow(xpv1.ManagementActionObserve) {
		return rejected(ReasonInvalidPolicy, fmt.Errorf("managementPolicies %q lack Observe, which every other action needs: "+
			"add Observe", policies))
	}
	return flow.Next()
}
