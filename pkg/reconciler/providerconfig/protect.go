// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// annotationSecrets lists the Secrets that a ProviderConfig protects or is about to protect, so that it can release those that
// it no longer refers to.
const annotationSecrets = "bowline.dev/held-secrets"

// protectAll puts the finalizer on the ProviderConfig and on the Secret that it refers to. Other Secrets are released.
func (r *Reconciler) protectAll(ctx context.Context, p *pass) error {
	var wanted []types.NamespacedName
	name, ok, err := credentials.SecretOf(p.config)
	if err != nil {
		return err
	}
	if ok {
		wanted = []types.NamespacedName{name}
	}
	outdated := slices.DeleteFunc(protectedSecrets(p.config), func(s types.NamespacedName) bool { return slices.Contains(wanted, s) })
	if err := r.record(ctx, p, slices.Concat(wanted, outdated)); err != nil {
		return err
	}
	for _, secret := range wanted {
		if err := r.protectSecret(ctx, p, secret); err != nil {
			return err
		}
	}
	if err := r.releaseSecrets(ctx, p, outdated); err != nil {
		return err
	}
	return r.record(ctx, p, wanted)
}

// releaseAll removes all finalizers, that of the ProviderConfig last, since it lists the others. Then the Secrets are checked
// once more: another process may have protected them in between, see confirm.
func (r *Reconciler) releaseAll(ctx context.Context, p *pass) error {
	secrets := protectedSecrets(p.config)
	if err := r.releaseSecrets(ctx, p, secrets); err != nil {
		return err
	}
	if err := r.patch(ctx, p, meta.RemoveFinalizer, nil); err != nil {
		return err
	}
	return r.releaseSecrets(ctx, p, secrets)
}

func (r *Reconciler) releaseSecrets(ctx context.Context, p *pass, secrets []types.NamespacedName) error {
	for _, secret := range secrets {
		if err := r.releaseSecret(ctx, p, secret); err != nil {
			return err
		}
	}
	return nil
}

// record writes finalizer and list of Secrets to the ProviderConfig, unless they are there.
func (r *Reconciler) record(ctx context.Context, p *pass, secrets []types.NamespacedName) error {
	if meta.FinalizerExists(p.config, Finalizer) && slices.Equal(protectedSecrets(p.config), secrets) {
		return nil
	}
	return r.patch(ctx, p, meta.AddFinalizer, secrets)
}

// patch changes the finalizer of the ProviderConfig and writes its list of Secrets, unless it was changed since it was read.
func (r *Reconciler) patch(ctx context.Context, p *pass, finalize func(metav1.Object, string), secrets []types.NamespacedName) error {
	entries := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		entries = append(entries, secret.String())
	}
	config, err := objects.Patch(ctx, r.client, p.config, func(config resource.ProviderConfig) {
		finalize(config, Finalizer)
		setAnnotation(config, annotationSecrets, strings.Join(entries, ","))
	})
	if err != nil {
		return fmt.Errorf("writing finalizer: %w", err)
	}
	p.config = config
	return nil
}

func protectedSecrets(config client.Object) (secrets []types.NamespacedName) {
	for entry := range strings.SplitSeq(config.GetAnnotations()[annotationSecrets], ",") {
		if namespace, name, ok := strings.Cut(entry, "/"); ok {
			secrets = append(secrets, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return secrets
}

// setAnnotation sets an annotation, or removes it if the value is empty.
func setAnnotation(o client.Object, key, value string) {
	annotations := labels.Merge(o.GetAnnotations(), labels.Set{key: value})
	if value == "" {
		delete(annotations, key)
	}
	o.SetAnnotations(annotations)
}

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
