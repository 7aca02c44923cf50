// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
)

// A holding is what a target, or its whole namespace, has of a managed resource.
type holding struct {
	source *corev1.Secret         // that lets its content go on, nil if there is none
	to     map[types.UID]struct{} // those that it names, and shall no longer
	copies []corev1.Secret
}

func (h *holding) isEmpty() bool { return len(h.to) == 0 && len(h.copies) == 0 }

// held finds what the namespace of a target has of a managed resource that does not allow it: all that the source names there,
// whoever controls it by now, and the target's copies.
func (r *Reconciler) held(ctx context.Context, p *pass) (*holding, error) {
	source, err := copies.Source(ctx, r.client, p.managed)
	if err != nil {
		return nil, err
	}
	h := &holding{source: source}
	if source != nil {
		h.to = inNamespace(source, p)
	}
	h.copies, err = r.owner(p).All(ctx)
	return h, err
}

// tidy removes the copies that the target no longer names, but those that still have what the source lost.
func (r *Reconciler) tidy(ctx context.Context, p *pass) outcome {
	all, err := r.owner(p).All(ctx)
	if err != nil {
		return fail(err)
	}
	h := &holding{source: p.source, to: map[types.UID]struct{}{}}
	for _, secret := range all {
		if secret.Name == secretKey(p).Name {
			continue
		}
		h.to[secret.UID] = struct{}{}
		if len(keptKeys(p, &secret)) == 0 {
			h.copies = append(h.copies, secret)
		}
	}
	if err := r.withdraw(ctx, p, h); err != nil {
		return fail(err)
	}
	return next()
}

// withdraw lets the source forget first, so that nothing goes on to what may outlive the next write, such as a copy that its
// holder took from the target, and then removes the copies.
func (r *Reconciler) withdraw(ctx context.Context, p *pass, h *holding) error {
	if err := copies.Revoke(ctx, r.client, h.source, h.to); err != nil {
		return err
	}
	for _, secret := range h.copies {
		if err := r.owner(p).Remove(ctx, &secret); err != nil {
			return err
		}
	}
	return nil
}

// inNamespace returns those that the source lets its content go on to in the target's namespace.
func inNamespace(source *corev1.Secret, p *pass) map[types.UID]struct{} {
	return copies.Destinations(source, func(at types.NamespacedName) bool { return at.Namespace == p.target.GetNamespace() })
}

// disown lets the source forget what has the name that the target gives and is not the target's, or no more: its holder may have
// taken it from the target. What somebody else controls, such as a claim of the same managed resource, is left alone.
func (r *Reconciler) disown(ctx context.Context, p *pass, source *corev1.Secret, key types.NamespacedName) error {
	from := copies.Destinations(source, func(at types.NamespacedName) bool { return at == key })
	if len(from) == 0 {
		return nil
	}
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.live.Get(ctx, key, found)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the Secret that the target names: %w", err)
	}
	if owner := metav1.GetControllerOf(found); err == nil && owner != nil && owner.UID != p.target.GetUID() {
		delete(from, found.UID)
	}
	return copies.Revoke(ctx, r.client, source, from)
}

// isLeft is true for a copy that the target made and that nobody else controls: the garbage collector takes the reference to the
// target away where it is to orphan what the target controls.
func (r *Reconciler) isLeft(secret *corev1.Secret, p *pass) bool {
	return r.owner(p).Owns(secret) ||
		metav1.GetControllerOf(secret) == nil && secret.Labels[LabelTargetUID] == string(p.target.GetUID())
}
