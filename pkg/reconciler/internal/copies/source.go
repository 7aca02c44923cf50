// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Source returns the connection Secret of a managed resource, nil if it has none. One that somebody else controls is none.
func Source(ctx context.Context, from client.Reader, mg resource.BindableManaged) (*corev1.Secret, error) {
	ref, wanted := resource.ConnectionSecretReference(mg)
	if !wanted {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := from.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the connection Secret of the managed resource: %w", err)
	}
	if err != nil || secret.Type != xpv1.SecretTypeConnection || !metav1.IsControlledBy(secret, mg) {
		return nil, nil
	}
	return secret, nil
}

// Destinations returns those that the source lets its content go on to, and whose name is as asked for.
func Destinations(source *corev1.Secret, are func(types.NamespacedName) bool) map[types.UID]struct{} {
	uids := map[types.UID]struct{}{}
	for uid, at := range meta.PropagatesTo(source) {
		if are(at) {
			uids[uid] = struct{}{}
		}
	}
	return uids
}

// Agrees is true for a source that says that its content goes on to the copy, and to no earlier ones of that name.
func Agrees(source, to *corev1.Secret) bool {
	return maps.Equal(agreed(source, to).Annotations, source.Annotations)
}

// Agree lets the source say what Agrees asks for.
func Agree(ctx context.Context, c client.Client, source, to *corev1.Secret) error {
	if Agrees(source, to) {
		return nil
	}
	_, err := Write(ctx, c, source, func(secret *corev1.Secret) { secret.Annotations = agreed(source, to).Annotations })
	return err
}

func agreed(source, to *corev1.Secret) *corev1.Secret {
	key, wanted := client.ObjectKeyFromObject(to), source.DeepCopy()
	for uid := range Destinations(source, func(at types.NamespacedName) bool { return at == key }) {
		if uid != to.GetUID() {
			meta.ForbidPropagationTo(wanted, uid)
		}
	}
	meta.AllowPropagationTo(wanted, to)
	return wanted
}

// Revoke takes back, on the source, that its content goes on to the given Secrets; source is what is stored then. Nothing goes on
// from one that is nil, or gone.
func Revoke(ctx context.Context, c client.Client, source *corev1.Secret, from map[types.UID]struct{}) error {
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
	changed, err := Write(ctx, c, source, func(secret *corev1.Secret) { secret.Annotations = wanted.Annotations })
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stopping the connection Secret of the managed resource from going on: %w", err)
	}
	*source = *changed
	return nil
}

// Write stores what is changed about an object, guarded by its resource version, and returns what is stored then. On error the
// object is as it was.
func Write[T client.Object](ctx context.Context, c client.Client, o T, change func(T)) (T, error) {
	changed := o.DeepCopyObject().(T)
	change(changed)
	return changed, c.Patch(ctx, changed, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
}
