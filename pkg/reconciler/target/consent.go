// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// checkConsent asks the managed resource whether the target's namespace may have its connection Secret (N27). Where it may not,
// or no more, what the namespace has of it is taken back, if the API server says the same as the cache.
func (r *Reconciler) checkConsent(ctx context.Context, p *pass) outcome {
	ref := p.target.GetResourceReference()
	if !consents(p.managed, p.target.GetNamespace()) {
		held, err := r.held(ctx, p)
		if err != nil {
			return fail(err)
		}
		if held.isEmpty() {
			return notAllowed(p)
		}
		if o := r.confirm(ctx, p); o.end != refused {
			return await(o) // of a cache that is behind, it will tell
		}
		if err := r.withdraw(ctx, p, held); err != nil {
			return fail(err)
		}
		p.note(ReasonWithdrawn, fmt.Sprintf("Removed the connection Secret of managed resource %s %q, which allows this namespace no more.",
			ref.Kind, ref.Name))
		return notAllowed(p)
	}
	if meta.WasDeleted(p.managed) {
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q is being deleted: delete the target, or wait if your platform "+
			"team is about to make the managed resource again", ref.Kind, ref.Name))
	}
	return next()
}

func notAllowed(p *pass) outcome {
	ref := p.target.GetResourceReference()
	return refuse(xpv1.ReasonNotAllowed, fmt.Errorf("managed resource %s %q does not allow namespace %q to connect: make another target, or "+
		"ask your platform team to list the namespace in its annotation %s", ref.Kind, ref.Name, p.target.GetNamespace(),
		meta.AnnotationKeyAllowedNamespaces))
}

// confirm asks the API server for the consent that the cache tells of, before anything goes on to the namespace or is taken from
// it. It refuses where there is none.
func (r *Reconciler) confirm(ctx context.Context, p *pass) outcome {
	if p.certain {
		return next()
	}
	kind, _ := r.kindOf(p.target.GetResourceReference())
	mg, err := r.readManaged(ctx, kind, client.ObjectKeyFromObject(p.managed))
	switch {
	case err != nil:
		return fail(err)
	case mg == nil || mg.GetUID() != p.managed.GetUID():
		return outcome{end: conflict}
	case !consents(mg, p.target.GetNamespace()):
		return notAllowed(p)
	}
	p.certain = true
	return next()
}

// await turns an outcome that contradicts the cache into one that comes back when the cache has caught up.
func await(o outcome) outcome {
	if o.end == failed {
		return o
	}
	return outcome{end: conflict}
}

// consents is true for a managed resource that lets the namespace connect: one that is bound to a claim of it, or that lists it.
func consents(mg resource.BindableManaged, namespace string) bool {
	ref := mg.GetClaimReference()
	if ref != nil && ref.UID != "" && ref.Namespace == namespace && mg.GetBindingPhase() == xpv1.BindingPhaseBound {
		return true
	}
	for allowed := range strings.SplitSeq(mg.GetAnnotations()[meta.AnnotationKeyAllowedNamespaces], ",") {
		if allowed = strings.TrimSpace(allowed); allowed == "*" || allowed == namespace {
			return true
		}
	}
	return false
}
