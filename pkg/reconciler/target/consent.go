// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// checkConsent checks that the managed resource allows the target's namespace (N27). Where it does not, or no longer, what the
// namespace has of it is removed.
func (r *Reconciler) checkConsent(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	if !connection.Allowed(p.managed, p.target.GetNamespace()) {
		withdrawn, err := r.copies.Withdraw(ctx, r.owner(p), p.managed, r.confirm(p, false))
		if err != nil {
			return fail("removing the connection Secret of the target", err)
		}
		if withdrawn {
			p.Note(ReasonWithdrawn, fmt.Sprintf("Removed the connection Secret of managed resource %s %q, which no longer allows this "+
				"namespace.", ref.Kind, ref.Name))
		}
		return refuse(xpv1.ReasonNotAllowed, fmt.Errorf("managed resource %s %q does not allow namespace %q to connect: create another "+
			"target, or ask your platform team to list the namespace in its annotation %s", ref.Kind, ref.Name, p.target.GetNamespace(),
			meta.AnnotationKeyAllowedNamespaces))
	}
	if meta.WasDeleted(p.managed) {
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q is being deleted: delete the target, or wait if your platform "+
			"team is about to create the managed resource again", ref.Kind, ref.Name))
	}
	return flow.Next()
}

// confirm asks the API server whether the managed resource allows the namespace, or that it does not.
func (r *Reconciler) confirm(p *pass, allowed bool) func(context.Context) error {
	return func(ctx context.Context) error {
		kind, _ := r.kindOf(p.target.GetResourceReference())
		mg, err := r.readManaged(ctx, kind, p.managed.GetName())
		if err != nil {
			return err
		}
		if mg == nil || mg.GetUID() != p.managed.GetUID() || connection.Allowed(mg, p.target.GetNamespace()) != allowed {
			return apierrors.NewConflict(schema.GroupResource{}, p.managed.GetName(), errors.New("the cache is behind"))
		}
		return nil
	}
}

// readManaged returns a managed resource from the API server, nil if it does not exist.
func (r *Reconciler) readManaged(ctx context.Context, kind schema.GroupVersionKind, name string) (resource.BindableManaged, error) {
	mg := r.newManaged(kind)
	err := r.live.Get(ctx, types.NamespacedName{Name: name}, mg)
	if objects.IsAbsent(err) {
		return nil, nil
	}
	return mg, err
}
