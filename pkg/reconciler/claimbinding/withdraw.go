// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// withdraw removes copies that the claim no longer names. The source forgets them first, so that nothing goes on to a copy
// that may outlive the next write.
func (r *Reconciler) withdraw(ctx context.Context, p *pass, source *corev1.Secret, to *xpv1.LocalSecretReference) error {
	copies, err := r.copies(ctx, p.claim)
	if err != nil {
		return err
	}
	for _, old := range copies {
		if to != nil && old.Name == to.Name {
			continue
		}
		if source != nil {
			if err := r.revoke(ctx, source, map[types.UID]struct{}{old.UID: {}}); err != nil {
				return err
			}
		}
		err := r.client.Delete(ctx, &old, client.Preconditions{UID: &old.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing the connection Secret that the claim no longer names: %w", err)
		}
	}
	return nil
}

// disown stops what a managed resource publishes from going on to a claim that it no longer belongs to, because an
// administrator gave it to somebody else.
func (r *Reconciler) disown(ctx context.Context, p *pass, mg resource.BindableManaged) error {
	copies, err := r.copies(ctx, p.claim)
	if err != nil || len(copies) == 0 {
		return err
	}
	source, err := r.source(ctx, mg)
	if err != nil || source == nil {
		return err
	}
	from := map[types.UID]struct{}{}
	for _, secret := range copies {
		from[secret.UID] = struct{}{}
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
	if err != nil {
		return fmt.Errorf("stopping the connection Secret of the managed resource from going on: %w", err)
	}
	*source = *changed
	return nil
}
