// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// observe looks at the external resource, once per pass unless the pass changes it (R21, R26).
func (r *Reconciler) observe(ctx context.Context, p *pass) outcome {
	if err := p.look(ctx); err != nil {
		return fail(ReasonCannotObserve, fmt.Errorf("observing the external resource: %w", err))
	}
	return next()
}

// lookAgain observes what this pass just did, so that one pass tells the whole story.
func (r *Reconciler) lookAgain(ctx context.Context, p *pass) outcome {
	return r.observe(ctx, p)
}

// checkFailure ends the pass with what the external system reports to be wrong with the resource.
func (r *Reconciler) checkFailure(_ context.Context, p *pass) outcome {
	if p.observation.Failed != nil {
		return fail(ReasonExternalFailed, fmt.Errorf("the external resource reports a failure: %w", p.observation.Failed))
	}
	return next()
}

// checkOwnership refuses an external resource that somebody else made (N24).
func (r *Reconciler) checkOwnership(_ context.Context, p *pass) outcome {
	if p.observation.ResourceExists && !p.owns() {
		return fail(ReasonCannotInitialize, fmt.Errorf("external resource %q exists already and was not created for this object: "+
			"to adopt it, set the annotation %s: %s; otherwise choose another name",
			meta.GetExternalName(p.managed), meta.AnnotationKeyExternalName, meta.GetExternalName(p.managed)))
	}
	return next()
}

// owns is true if the observed external resource is this object's: it says so itself, a user gave its name, or we
// recorded or began its creation (N5, N6, N23, N24). A label that names nobody proves nothing against a creation that
// we recorded, since people remove labels; a label that names somebody else always does.
func (p *pass) owns() bool {
	created := !meta.GetExternalCreateSucceeded(p.managed).IsZero()
	began := !meta.GetExternalCreatePending(p.managed).IsZero()
	owner := p.observation.Owner
	switch {
	case p.nameGiven:
		return true
	case owner == nil:
		return created || began
	case *owner == "":
		return created
	default:
		return *owner == p.managed.GetUID()
	}
}
