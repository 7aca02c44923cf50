// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
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
	"github.com/bowline-dev/bowline/pkg/resource"
)

// foreignSecretError reports that the Secret which a claim names is not the claim's.
type foreignSecretError struct{ name string }

func (e *foreignSecretError) Error() string {
	return fmt.Sprintf("secret %q exists and does not belong to this claim: name another one in spec.writeConnectionSecretToRef, or "+
		"remove it", e.name)
}

func isForeign(err error) bool {
	_, ok := errors.AsType[*foreignSecretError](err)
	return ok
}

// overtaken returns the Secret that made it impossible to create the copy: the claim's own, which the cache has not seen yet.
// The content of one that is not the claim's is not read.
func (r *Reconciler) overtaken(ctx context.Context, claim resource.Claim, key types.NamespacedName) (*corev1.Secret, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := r.live.Get(ctx, key, found); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	if metav1.IsControlledBy(found, claim) {
		if err := r.live.Get(ctx, key, secret); err != nil {
			return nil, err
		}
	}
	if !isCopy(secret, claim) {
		return nil, &foreignSecretError{key.Name}
	}
	return secret, nil
}

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
	copies, err := r.copies(ctx, p.claim)
	if err != nil {
		return err
	}
	for _, old := range copies {
		if to != nil && old.Name == to.Name || len(keptKeys(p.claim, &old, source)) > 0 {
			continue
		}
		if err := r.removeCopy(ctx, &old); err != nil {
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
	return r.revoke(ctx, source, outdated)
}

func (r *Reconciler) removeCopy(ctx context.Context, old *corev1.Secret) error {
	err := r.client.Delete(ctx, old, client.Preconditions{UID: &old.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing a connection Secret of the claim: %w", err)
	}
	return nil
}

// discard removes the copies of a claim that goes, also where the garbage collector took them from the claim already, to orphan
// them. Such a one has the name that the claim gives, and says that it is from the claim's managed resource.
func (r *Reconciler) discard(ctx context.Context, p *pass) error {
	copies, err := r.copies(ctx, p.claim)
	if err != nil {
		return err
	}
	for _, own := range copies {
		if err := r.removeCopy(ctx, &own); err != nil {
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
	return r.removeCopy(ctx, left)
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
	source, err := r.source(ctx, r.client, mg)
	if err != nil || source == nil {
		return err
	}
	copies, err := r.copies(ctx, p.claim)
	if err != nil {
		return err
	}
	from := map[types.UID]struct{}{}
	for _, secret := range copies {
		from[secret.UID] = struct{}{}
	}
	if ref := mg.GetClaimReference(); ref == nil || ref.Namespace != p.claim.GetNamespace() {
		for uid, name := range meta.PropagatesTo(source) { // whoever controls them by now
			if name.Namespace == p.claim.GetNamespace() {
				from[uid] = struct{}{}
			}
		}
	}
	return r.revoke(ctx, source, from)
}

// stopPropagation ends that the connection Secret of a managed resource goes on to anybody: it is done whenever a managed
// resource leaves a claim or gets one. It does not ask whose the copies are, since their holders may have changed that; targets
// agree anew where they still may. The API server itself is asked, since nobody looks again.
func (r *Reconciler) stopPropagation(ctx context.Context, mg resource.BindableManaged) error {
	source, err := r.source(ctx, r.live, mg)
	if err != nil || source == nil {
		return err
	}
	from := map[types.UID]struct{}{}
	for uid := range meta.PropagatesTo(source) {
		from[uid] = struct{}{}
	}
	return r.revoke(ctx, source, from)
}

// copies returns the connection Secrets that the claim controls.
func (r *Reconciler) copies(ctx context.Context, claim resource.Claim) (own []corev1.Secret, err error) {
	list := &corev1.SecretList{}
	if err := r.client.List(ctx, list, client.InNamespace(claim.GetNamespace())); err != nil {
		return nil, fmt.Errorf("listing connection Secrets: %w", err)
	}
	for _, secret := range list.Items {
		if isCopy(&secret, claim) {
			own = append(own, secret)
		}
	}
	return own, nil
}

// revoke takes back, on the source, that its content goes on to the given Secrets.
func (r *Reconciler) revoke(ctx context.Context, source *corev1.Secret, from map[types.UID]struct{}) error {
	wanted := source.DeepCopy()
	for uid := range from {
		meta.ForbidPropagationTo(wanted, uid)
	}
	if len(wanted.Annotations) == len(source.Annotations) {
		return nil
	}
	changed, err := write(ctx, r, source, func(secret *corev1.Secret) { secret.Annotations = maps.Clone(wanted.Annotations) })
	if apierrors.IsNotFound(err) { // nothing goes on from what is gone
		return nil
	}
	if err != nil {
		return fmt.Errorf("stopping the connection Secret of the managed resource from going on: %w", err)
	}
	*source = *changed
	return nil
}
