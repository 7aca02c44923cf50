// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// guard ends the pass of an object that must be left alone now: a call runs in the background, it is paused, or its policies
// cannot be followed.
func (r *Reconciler) guard(ctx context.Context, p *pass) outcome {
	return flow.Run(ctx, p, r.awaitOperation, r.checkPaused, r.checkPolicies)
}

// guardDeletion is guard for an object under deletion. It also removes the finalizer of one whose external resource is to
// stay.
func (r *Reconciler) guardDeletion(ctx context.Context, p *pass) outcome {
	return flow.Run(ctx, p, r.checkFinalizer, r.awaitOperation, r.releaseAbandoned, r.readReferences, r.checkPaused, r.releaseOrphan,
		r.checkPolicies)
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

// checkFinalizer ends the pass of an object under deletion that has our finalizer no more.
func (r *Reconciler) checkFinalizer(ctx context.Context, p *pass) outcome {
	if meta.FinalizerExists(p.managed, Finalizer) {
		return flow.Next()
	}
	return r.awaitFinalizers(ctx, p)
}

// awaitFinalizers waits until ours is the last finalizer: what added another one may still need the external resource (N37).
func (r *Reconciler) awaitFinalizers(_ context.Context, p *pass) outcome {
	return flow.AwaitFinalizers(p.managed, Finalizer)
}

// releaseAbandoned removes the finalizer if the user asked to orphan the external resource, in whatever state it is (N31).
func (r *Reconciler) releaseAbandoned(ctx context.Context, p *pass) outcome {
	if meta.OrphansOnDelete(p.managed) {
		return r.release(ctx, p, "as the annotation "+meta.AnnotationKeyOrphanOnDelete+" requests")
	}
	return flow.Next()
}

// releaseOrphan removes the finalizer of an object whose policies keep its external resource (R57, N3).
func (r *Reconciler) releaseOrphan(ctx context.Context, p *pass) outcome {
	if !resource.MayDeleteExternal(p.managed) {
		return r.release(ctx, p, "since the policies of the object do not permit its deletion")
	}
	return flow.Next()
}
