// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// protectorPrefix begins the annotations of a Secret that name the ProviderConfigs that protect it: the key ends in the UID, the
// value is for people. The finalizer is removed with the last of them.
const protectorPrefix = "in-use.bowline.dev/"

// protectSecret puts the finalizer on a Secret, unless it does not exist or is being deleted.
func (r *Reconciler) protectSecret(ctx context.Context, p *pass, key types.NamespacedName) error {
	read := r.readSecret
	if r.secrets != nil {
		read = r.secrets.Get
	}
	secret, err := read(ctx, key)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if meta.WasDeleted(secret) {
		return nil
	}
	protector := protectorPrefix + string(p.config.GetUID())
	if _, ok := secret.Annotations[protector]; ok && meta.FinalizerExists(secret, SecretFinalizer) {
		return nil
	}
	err = r.patchSecret(ctx, secret, func(o client.Object) {
		meta.AddFinalizer(o, SecretFinalizer)
		setAnnotation(o, protector, r.kind.GroupKind().String()+" "+strings.TrimPrefix(p.key.String(), "/"))
	})
	if err != nil {
		return err
	}
	return r.confirm(ctx, p, key)
}

// confirm releases a Secret again if the ProviderConfig was released meanwhile by another process that still runs: nothing
// would release it later. If the read fails, the next pass protects it again.
func (r *Reconciler) confirm(ctx context.Context, p *pass, key types.NamespacedName) error {
	now := objects.MustNew[resource.ProviderConfig](r.client.Scheme(), r.kind)
	err := r.live.Get(ctx, p.key, now)
	if err == nil && now.GetUID() == p.config.GetUID() && meta.FinalizerExists(now, Finalizer) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		err = fmt.Errorf("reading its finalizer: %w", err)
	}
	return errors.Join(client.IgnoreNotFound(err), r.releaseSecret(ctx, p, key))
}

// releaseSecret ends the protection of a Secret by the ProviderConfig. It reads past the cache, since it is not repeated.
func (r *Reconciler) releaseSecret(ctx context.Context, p *pass, key types.NamespacedName) error {
	secret, err := r.readSecret(ctx, key)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	protector := protectorPrefix + string(p.config.GetUID())
	if _, ok := secret.Annotations[protector]; !ok {
		return nil
	}
	return r.patchSecret(ctx, secret, func(o client.Object) {
		setAnnotation(o, protector, "")
		for annotation := range o.GetAnnotations() {
			if strings.HasPrefix(annotation, protectorPrefix) {
				return
			}
		}
		meta.RemoveFinalizer(o, SecretFinalizer)
	})
}

func (r *Reconciler) readSecret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := r.live.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading secret %s: %w", key, err)
	}
	return secret, nil
}

// patchSecret writes a change of the metadata of a Secret, unless it was changed since it was read. Neither request nor response
// contains its data.
func (r *Reconciler) patchSecret(ctx context.Context, secret *corev1.Secret, change func(client.Object)) error {
	o := &metav1.PartialObjectMetadata{ObjectMeta: *secret.ObjectMeta.DeepCopy()}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if _, err := objects.Patch(ctx, r.client, client.Object(o), change); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing finalizer of secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}
