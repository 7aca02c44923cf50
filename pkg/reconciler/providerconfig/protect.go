// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// annotationSecrets lists the Secrets that a ProviderConfig protects or is about to protect, so that it can release those that
// it no longer refers to.
const annotationSecrets = "bowline.dev/held-secrets"

// protectAll puts the finalizer on the ProviderConfig and on the Secrets that it refers to. Other Secrets are released.
func (r *Reconciler) protectAll(ctx context.Context, p *pass) error {
	wanted, err := credentials.SecretsOf(p.config)
	if err != nil {
		return err
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
	if err := r.releaseSecrets(ctx, p.config.GetUID(), outdated); err != nil {
		return err
	}
	return r.record(ctx, p, wanted)
}

// releaseAll removes all finalizers, that of the ProviderConfig last, since it lists the others. Then the Secrets are checked
// once more: another process may have protected them in between, see confirm.
func (r *Reconciler) releaseAll(ctx context.Context, p *pass) error {
	secrets := protectedSecrets(p.config)
	if err := r.releaseSecrets(ctx, p.config.GetUID(), secrets); err != nil {
		return err
	}
	if err := r.patch(ctx, p, meta.RemoveFinalizer, nil); err != nil {
		return err
	}
	return r.releaseSecrets(ctx, p.config.GetUID(), secrets)
}

func (r *Reconciler) releaseSecrets(ctx context.Context, by types.UID, secrets []types.NamespacedName) error {
	for _, secret := range secrets {
		if err := r.releaseSecret(ctx, secret, by); err != nil {
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

// protectSecret puts the finalizer on a Secret, unless it does not exist or is being deleted. It is removed with the last of the
// annotations.
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
	protector := meta.AnnotationPrefixInUse + string(p.config.GetUID())
	if _, ok := secret.Annotations[protector]; ok && meta.FinalizerExists(secret, SecretFinalizer) {
		return nil
	}
	err = r.patchSecret(ctx, secret, func(o client.Object) {
		meta.AddFinalizer(o, SecretFinalizer)
		setAnnotation(o, protector, r.kindOfUser()+strings.TrimPrefix(p.key.String(), "/"))
	})
	if err != nil {
		return err
	}
	return r.confirm(ctx, p, key)
}

// confirm releases a Secret again if the ProviderConfig was released meanwhile by another process that still runs: nothing
// would release it later. If the read fails, the next pass protects it again.
func (r *Reconciler) confirm(ctx context.Context, p *pass, key types.NamespacedName) error {
	now := r.newConfig()
	err := r.live.Get(ctx, p.key, now)
	if err == nil && now.GetUID() == p.config.GetUID() && meta.FinalizerExists(now, Finalizer) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		err = fmt.Errorf("reading its finalizer: %w", err)
	}
	return errors.Join(client.IgnoreNotFound(err), r.releaseSecret(ctx, key, p.config.GetUID()))
}

// releaseSecret ends the protection of a Secret by ProviderConfigs. It reads past the cache, since it is not repeated.
func (r *Reconciler) releaseSecret(ctx context.Context, key types.NamespacedName, by ...types.UID) error {
	secret, err := r.readSecret(ctx, key)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	kept := maps.Clone(secret.Annotations)
	for _, uid := range by {
		delete(kept, meta.AnnotationPrefixInUse+string(uid))
	}
	if len(kept) == len(secret.Annotations) {
		return nil
	}
	return r.patchSecret(ctx, secret, func(o client.Object) {
		o.SetAnnotations(kept)
		if len(meta.UsersOf(o)) == 0 {
			meta.RemoveFinalizer(o, SecretFinalizer)
		}
	})
}

// kindOfUser begins the values of the annotations in Secrets that ProviderConfigs of this kind use.
func (r *Reconciler) kindOfUser() string { return r.kind.GroupKind().String() + " " }

// releaseRemoved releases the Secrets of ProviderConfigs that were removed by force, without their finalizers, while no process ran:
// nothing else would. The Secrets are listed first, since a ProviderConfig exists before it protects one. What is refused keeps none of the
// others, and each is written once, since whoever may write a Secret may name any number of ProviderConfigs there.
func (r *Reconciler) releaseRemoved(ctx context.Context) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	marked := map[types.NamespacedName][]types.UID{}
	for page := true; page; page = list.Continue != "" {
		if err := r.live.List(ctx, list, client.Limit(pageSize), client.Continue(list.Continue)); err != nil {
			return fmt.Errorf("listing the metadata of Secrets: %w", err)
		}
		for _, secret := range list.Items {
			for key, value := range secret.Annotations {
				if by, ok := strings.CutPrefix(key, meta.AnnotationPrefixInUse); ok && strings.HasPrefix(value, r.kindOfUser()) {
					name := client.ObjectKeyFromObject(&secret)
					marked[name] = append(marked[name], types.UID(by))
				}
			}
		}
	}
	if len(marked) == 0 {
		return nil
	}
	existing := sets.New[types.UID]()
	err := r.each(ctx, r.kind, func(config *unstructured.Unstructured) error {
		existing.Insert(config.GetUID())
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing %s: %w", r.kind.GroupKind(), err)
	}
	for secret, by := range marked {
		if removed := slices.DeleteFunc(by, existing.Has); len(removed) > 0 {
			err = errors.Join(err, r.releaseSecret(ctx, secret, removed...))
		}
	}
	return err
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
