// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// HadExternalResource is true for an object whose external resource was created or adopted. It is false again from the beginning of
// another creation until that succeeds.
func HadExternalResource(o metav1.Object) bool {
	created := !meta.GetExternalCreateSucceeded(o).IsZero()
	adopted := meta.FinalizerExists(o, Finalizer) && meta.GetExternalName(o) != ""
	return (created || adopted) && !meta.ExternalCreateUnacknowledged(o)
}

// checkLost ends the pass of an object whose external resource held data and is gone: an empty one would hide the loss (N38). Polls
// go on, so that the object recovers once the resource is restored.
func (r *Reconciler) checkLost(_ context.Context, p *pass) outcome {
	if p.observation.ResourceExists || p.ended.verb == verbCreate || !HadExternalResource(p.managed) || r.recreates(p.managed) {
		return flow.Next()
	}
	if o := r.awaitAppearance(p); o.End != flow.Continue {
		return o
	}
	refused := meta.CheckRecreate(p.managed, r.now())
	if refused == nil {
		return flow.Next()
	}
	const team = "the external resource is gone, with its data: ask your platform team to restore it, or to permit an empty one"
	p.managed.SetConditions(xpv1.ResourceLost().WithMessage("The external resource is gone, with its data."))
	return rejected(ReasonExternalLost, failure.ForTeam(failure.ExternalResourceLost, team, fmt.Errorf(
		"external resource %q is gone, with its data, and is not created again: restore it under this name, or correct the annotation %s; to "+
			"create an empty one, set the annotation %s to %q (%w)", meta.GetExternalName(p.managed), meta.AnnotationKeyExternalName,
		meta.AnnotationKeyRecreate, p.managed.GetUID(), refused)))
}

// recreates is true if an external resource that is gone is created again without permission.
func (r *Reconciler) recreates(mg resource.Managed) bool {
	policy := r.recreatePolicy
	if o, ok := mg.(resource.Recreatable); ok {
		policy = cmp.Or(o.GetRecreatePolicy(), policy)
	}
	return policy == xpv1.RecreateAlways
}
