// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// checkFinalizer ends the pass over a deleted target that has nothing, or was let go.
func (r *Reconciler) checkFinalizer(_ context.Context, p *pass) outcome {
	if !meta.FinalizerExists(p.target, Finalizer) {
		return vanish()
	}
	return next()
}

// discard removes the copies of a target that goes, also those that the garbage collector took from it to orphan them, and lets
// their sources forget them. It asks the API server itself: nobody looks again.
func (r *Reconciler) discard(ctx context.Context, p *pass) outcome {
	list := &corev1.SecretList{}
	err := r.live.List(ctx, list, client.InNamespace(p.target.GetNamespace()),
		client.MatchingLabels{LabelTargetUID: string(p.target.GetUID())})
	if err != nil {
		return fail(fmt.Errorf("listing the connection Secrets of the target: %w", err))
	}
	if err := r.forget(ctx, p); err != nil {
		return fail(err)
	}
	for _, secret := range list.Items {
		if !r.isLeft(&secret, p) {
			continue
		}
		source, err := r.origin(ctx, &secret)
		if err != nil {
			return fail(err)
		}
		h := &holding{source: source, to: map[types.UID]struct{}{secret.UID: {}}, copies: []corev1.Secret{secret}}
		if err := r.withdraw(ctx, p, h); err != nil {
			return fail(err)
		}
	}
	return next()
}

// forget lets the connection Secret of the managed resource forget everybody in the namespace, also a copy that its holder took from
// the target, under whatever name and for whomever: no target may be there when consent is withdrawn. Claims and other targets watch
// the Secret, and agree anew where they still may.
func (r *Reconciler) forget(ctx context.Context, p *pass) error {
	ref := p.target.GetResourceReference()
	kind, known := r.kindOf(ref)
	if !known {
		return nil
	}
	mg, err := r.readManaged(ctx, kind, types.NamespacedName{Name: ref.Name})
	if err != nil || mg == nil {
		return err
	}
	source, err := copies.Source(ctx, r.live, mg)
	if err != nil || source == nil {
		return err
	}
	return copies.Revoke(ctx, r.client, source, inNamespace(source, p))
}

// origin returns the Secret that a copy says it is from, nil if there is none.
func (r *Reconciler) origin(ctx context.Context, of *corev1.Secret) (*corev1.Secret, error) {
	from, known := meta.PropagatedFrom(of)
	if !known || !isName(from.NamespacedName) {
		return nil, nil
	}
	source := &corev1.Secret{}
	if err := r.live.Get(ctx, from.NamespacedName, source); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return source, nil
}

// isName is true for what can be the name of a Secret. Whoever may write Secrets can write anything else too, which the API
// server refuses with an error that does not go away.
func isName(key types.NamespacedName) bool {
	return len(validation.IsDNS1123Label(key.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(key.Name)) == 0
}

// letGo lets the target disappear.
func (r *Reconciler) letGo(ctx context.Context, p *pass) outcome {
	_, err := write(ctx, r, p.target, func(target resource.Target) { meta.RemoveFinalizer(target, Finalizer) })
	if client.IgnoreNotFound(err) != nil {
		return fail(fmt.Errorf("removing the finalizer: %w", err))
	}
	return vanish()
}
