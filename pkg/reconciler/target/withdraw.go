// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
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
	source, err := r.sourceOf(ctx, r.client, p.managed)
	if err != nil {
		return nil, err
	}
	h := &holding{source: source}
	if source != nil {
		h.to = within(source, p.target.GetNamespace())
	}
	h.copies, err = r.copies(ctx, p, "")
	return h, err
}

// tidy removes the copies that the target no longer names, but those that still have what the source lost.
func (r *Reconciler) tidy(ctx context.Context, p *pass) outcome {
	outdated, err := r.copies(ctx, p, secretKey(p).Name)
	if err != nil {
		return fail(err)
	}
	h := &holding{source: p.source, to: map[types.UID]struct{}{}}
	for _, secret := range outdated {
		h.to[secret.UID] = struct{}{}
		if len(keptKeys(p, &secret)) == 0 {
			h.copies = append(h.copies, secret)
		}
	}
	if err := r.withdraw(ctx, h); err != nil {
		return fail(err)
	}
	return next()
}

// withdraw lets the source forget first, so that nothing goes on to what may outlive the next write, such as a copy that its
// holder took from the target, and then removes the copies.
func (r *Reconciler) withdraw(ctx context.Context, h *holding) error {
	if err := r.revoke(ctx, h.source, h.to); err != nil {
		return err
	}
	for _, secret := range h.copies {
		err := r.client.Delete(ctx, &secret, client.Preconditions{UID: &secret.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing a connection Secret of the target: %w", err)
		}
	}
	return nil
}

// copies returns the copies that the target controls, but that of the given name.
func (r *Reconciler) copies(ctx context.Context, p *pass, but string) (own []corev1.Secret, err error) {
	list := &corev1.SecretList{}
	if err := r.client.List(ctx, list, client.InNamespace(p.target.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing connection Secrets: %w", err)
	}
	for i := range list.Items {
		if secret := &list.Items[i]; isCopy(secret, p) && secret.Name != but {
			own = append(own, *secret.DeepCopy())
		}
	}
	return own, nil
}

// named returns those that the source lets its content go on to under a name.
func named(source *corev1.Secret, key types.NamespacedName) map[types.UID]struct{} {
	uids := map[types.UID]struct{}{}
	for uid, at := range meta.PropagatesTo(source) {
		if at == key {
			uids[uid] = struct{}{}
		}
	}
	return uids
}

// within returns those that the source lets its content go on to in a namespace.
func within(source *corev1.Secret, namespace string) map[types.UID]struct{} {
	uids := map[types.UID]struct{}{}
	for uid, at := range meta.PropagatesTo(source) {
		if at.Namespace == namespace {
			uids[uid] = struct{}{}
		}
	}
	return uids
}

// disown lets the source forget what has the name that the target gives and is not the target's, or no more: its holder may have
// taken it from the target. What somebody else controls, such as a claim of the same managed resource, is left alone.
func (r *Reconciler) disown(ctx context.Context, p *pass, source *corev1.Secret, key types.NamespacedName) error {
	from := named(source, key)
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
	return r.revoke(ctx, source, from)
}

// revoke takes back, on the source, that its content goes on to the given Secrets, and carries on with what is stored then.
func (r *Reconciler) revoke(ctx context.Context, source *corev1.Secret, from map[types.UID]struct{}) error {
	if source == nil {
		return nil
	}
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

// isLeft is true for a copy that the target made and that nobody else controls: the garbage collector takes the reference to the
// target away where it is to orphan what the target controls.
func isLeft(secret *corev1.Secret, p *pass) bool {
	return isCopy(secret, p) ||
		metav1.GetControllerOf(secret) == nil && secret.Labels[LabelTargetUID] == string(p.target.GetUID())
}
