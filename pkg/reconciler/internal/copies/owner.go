// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// An Owner is a claim or a target that has copies in its namespace.
type Owner struct {
	Client client.Client // whose cache has connection Secrets only
	Live   client.Reader // past the cache

	Object client.Object
	Kind   schema.GroupVersionKind
	Word   string // for it, in messages: "claim"
	Field  string // where it names its Secret: "spec.writeConnectionSecretToRef"
}

// Owns is true for a Secret that can only be a copy of ours.
func (o Owner) Owns(secret *corev1.Secret) bool {
	return secret.Type == xpv1.SecretTypeConnection && metav1.IsControlledBy(secret, o.Object)
}

// At returns the copy of that name as the cache has it, nil if that knows none. The error is one for IsForeign where somebody
// else's connection Secret has the name; other Secrets are not cached.
func (o Owner) At(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := o.Client.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && !o.Owns(secret) {
		err = o.foreign(key)
	}
	return secret, err
}

// All returns the copies that the cache has.
func (o Owner) All(ctx context.Context) (own []corev1.Secret, err error) {
	list := &corev1.SecretList{}
	if err := o.Client.List(ctx, list, client.InNamespace(o.Object.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing connection Secrets: %w", err)
	}
	for i := range list.Items {
		if secret := &list.Items[i]; o.Owns(secret) {
			own = append(own, *secret.DeepCopy())
		}
	}
	return own, nil
}

// Make makes the copy in one write that says whose it is and where it is from. It returns the one that is there where the cache
// had not seen that yet; the error is one for IsForeign if that is somebody else's.
func (o Owner) Make(ctx context.Context, key types.NamespacedName, source *corev1.Secret, data map[string][]byte,
	labels map[string]string) (have *corev1.Secret, made bool, err error) {
	have = &corev1.Secret{Type: xpv1.SecretTypeConnection, Data: data}
	have.Namespace, have.Name, have.Labels = key.Namespace, key.Name, labels
	have.OwnerReferences = []metav1.OwnerReference{meta.AsController(o.Object, o.Kind)}
	meta.AllowPropagationFrom(have, source)
	err = o.Client.Create(ctx, have)
	if apierrors.IsAlreadyExists(err) {
		have, err = o.overtaken(ctx, key)
		return have, false, err
	}
	return have, err == nil, err
}

// overtaken returns the Secret that made it impossible to make the copy: the owner's own, which the cache has not seen yet. The
// content of one that is not the owner's is not read.
func (o Owner) overtaken(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := o.Live.Get(ctx, key, found); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	if metav1.IsControlledBy(found, o.Object) {
		if err := o.Live.Get(ctx, key, secret); err != nil {
			return nil, err
		}
	}
	if !o.Owns(secret) {
		return nil, o.foreign(key)
	}
	return secret, nil
}

// Remove deletes a copy, unless another Secret has its name by now. One that is gone already is no error.
func (o Owner) Remove(ctx context.Context, secret *corev1.Secret) error {
	err := o.Client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing a connection Secret of the %s: %w", o.Word, err)
	}
	return nil
}

func (o Owner) foreign(key types.NamespacedName) error {
	return &foreignError{name: key.Name, word: o.Word, field: o.Field}
}

// foreignError reports that the Secret which an owner names is not the owner's.
type foreignError struct{ name, word, field string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("secret %q exists and does not belong to this %s: name another one in %s, or remove it", e.name, e.word, e.field)
}

// IsForeign is true for an error that says that the Secret which an owner names is somebody else's.
func IsForeign(err error) bool {
	_, ok := errors.AsType[*foreignError](err)
	return ok
}
