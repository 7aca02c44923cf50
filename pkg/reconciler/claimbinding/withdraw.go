// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// withdraw lets the source go on to nobody but the claim's copy and those of targets, and removes copies that the claim
// no longer names, unless they still have what the source lost. The source forgets first, so that nothing goes on to what may
// outlive the next write, such as a copy that its holder took from the claim, or that of a claim which had the managed resource
// before.
func (r *Reconciler) withdraw(ctx context.Context, p *pass, source *corev1.Secret, to *xpv1.LocalSecretReference) error {
	if source == nil { // what the copies have is nowhere else
		return nil
	}
	if err := r.revokeOutdated(ctx, p, source, to); err != nil {
		return err
	}
	all, err := r.owner(p.claim).All(ctx)
	if err != nil {
		return err
	}
	for _, old := range all {
		if to != nil && old.Name == to.Name || len(keptKeys(p.claim, &old, source)) > 0 {
			continue
		}
		if err := r.owner(p.claim).Remove(ctx, &old); err != nil {
			return err
		}
	}
	return nil
}

// revokeOutdated is the half of withdraw that removes nothing.
func (r *Reconciler) revokeOutdated(ctx context.Context, p *pass, source *corev1.Secret, to *xpv1.LocalSecretReference) error {
	if source == nil {
		return nil
	}
	outdated, err := r.outdated(ctx, p.claim, source, to)
	if err != nil {
		return err
	}
	return copies.Revoke(ctx, r.client, source, outdated)
}

// discard removes the copies of a claim that goes, also where the garbage collector took them from the claim already, to orphan
// them. Such a one has the name that the claim gives, and says that it is from the claim's managed resource.
func (r *Reconciler) discard(ctx context.Context, p *pass) error {
	all, err := r.owner(p.claim).All(ctx)
	if err != nil {
		return err
	}
	for _, own := range all {
		if err := r.owner(p.claim).Remove(ctx, &own); err != nil {
			return err
		}
	}
	to := p.claim.GetWriteConnectionSecretToReference()
	if to == nil || p.managed == nil {
		return nil
	}
	left := &corev1.Secret{}
	err = r.client.Get(ctx, types.NamespacedName{Namespace: p.claim.GetNamespace(), Name: to.Name}, left)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the connection Secret of the claim: %w", err)
	}
	source, known := meta.PropagatedFrom(left)
	ref, published := resource.ConnectionSecretReference(p.managed)
	ours := known && published && source.Namespace == ref.Namespace && source.Name == ref.Name
	if err != nil || !ours || left.Type != xpv1.SecretTypeConnection || metav1.GetControllerOf(left) != nil {
		return nil
	}
	return r.owner(p.claim).Remove(ctx, left)
}

// outdated returns the destinations of the source that have no right to it. Those of the name that the claim gives are for
// agree.
func (r *Reconciler) outdated(ctx context.Context, claim resource.Claim, source *corev1.Secret,
	to *xpv1.LocalSecretReference) (map[types.UID]struct{}, error) {
	outdated := map[types.UID]struct{}{}
	for uid, name := range meta.PropagatesTo(source) {
		if to != nil && name.Namespace == claim.GetNamespace() && name.Name == to.Name {
			continue
		}
		targets, err := r.isTargets(ctx, uid, name)
		if err != nil {
			return nil, err
		}
		if !targets {
			outdated[uid] = struct{}{}
		}
	}
	return outdated, nil
}

// isTargets is true for a destination that a KubernetesTarget controls. Whoever may write Secrets can pretend that of the copy
// of a claim, and keeps it as long as the claim, see stopPropagation.
func (r *Reconciler) isTargets(ctx context.Context, uid types.UID, name types.NamespacedName) (bool, error) {
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, name, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading a copy of the connection Secret: %w", err)
	}
	owner := metav1.GetControllerOf(secret)
	return secret.UID == uid && owner != nil &&
		schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == targetKind(), nil
}

func targetKind() schema.GroupKind {
	return schema.GroupKind{Group: "workload.crossplane.io", Kind: "KubernetesTarget"}
}

// disown stops what a managed resource publishes from going on to a claim that it no longer belongs to, because an
// administrator gave it to somebody else.
func (r *Reconciler) disown(ctx context.Context, p *pass, mg resource.BindableManaged) error {
	source, err := copies.Source(ctx, r.client, mg)
	if err != nil || source == nil {
		return err
	}
	all, err := r.owner(p.claim).All(ctx)
	if err != nil {
		return err
	}
	from := map[types.UID]struct{}{}
	for _, secret := range all {
		from[secret.UID] = struct{}{}
	}
	if ref := mg.GetClaimReference(); ref == nil || ref.Namespace != p.claim.GetNamespace() {
		maps.Copy(from, copies.Destinations(source, func(at types.NamespacedName) bool { // whoever controls them by now
			return at.Namespace == p.claim.GetNamespace()
		}))
	}
	return copies.Revoke(ctx, r.client, source, from)
}

// stopPropagation ends that the connection Secret of a managed resource goes on to anybody: it is done whenever a managed
// resource leaves a claim or gets one. It does not ask whose the copies are, since their holders may have changed that; targets
// agree anew where they still may. The API server itself is asked, since nobody looks again.
func (r *Reconciler) stopPropagation(ctx context.Context, mg resource.BindableManaged) error {
	source, err := copies.Source(ctx, r.live, mg)
	if err != nil || source == nil {
		return err
	}
	everybody := copies.Destinations(source, func(types.NamespacedName) bool { return true })
	return copies.Revoke(ctx, r.client, source, everybody)
}
