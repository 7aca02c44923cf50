// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// holderPrefix begins the annotations of a Secret that say who holds it: one for each configuration, with its UID as
// name and words for people as value. The finalizer goes with the last of them.
const holderPrefix = "in-use.bowline.dev/"

// holdSecret keeps a Secret for the configuration. A Secret that is not there, or is going away, has nothing to keep.
func (r *Reconciler) holdSecret(ctx context.Context, p *pass, key types.NamespacedName) error {
	read := r.readSecret
	if r.secrets != nil {
		read = r.secrets.Get
	}
	secret, err := read(ctx, key)
	if err != nil {
		return ignoreAbsent(err)
	}
	if meta.WasDeleted(secret) {
		return nil
	}
	holder := holderPrefix + string(p.config.GetUID())
	if _, ok := secret.Annotations[holder]; ok && meta.FinalizerExists(secret, SecretFinalizer) {
		return nil
	}
	err = r.changeSecret(ctx, secret, func(o client.Object) {
		meta.AddFinalizer(o, SecretFinalizer)
		setAnnotation(o, holder, r.kind.GroupKind().String()+" "+strings.TrimPrefix(p.key.String(), "/"))
	})
	if err != nil {
		return err
	}
	return r.confirm(ctx, p, key)
}

// confirm ends a hold that came too late: another process, which works beside this one for a while, may have let the
// configuration go meanwhile, and then nobody would ever end it. What cannot be confirmed is held by the next pass.
func (r *Reconciler) confirm(ctx context.Context, p *pass, key types.NamespacedName) error {
	now := objects.MustNew[resource.ProviderConfig](r.client.Scheme(), r.kind)
	err := r.live.Get(ctx, p.key, now)
	if err == nil && now.GetUID() == p.config.GetUID() && meta.FinalizerExists(now, Finalizer) {
		return nil
	}
	if ignoreAbsent(err) != nil {
		err = fmt.Errorf("reading whether it is held: %w", err)
	}
	return errors.Join(ignoreAbsent(err), r.releaseSecret(ctx, p, key))
}

// releaseSecret ends the hold of the configuration on a Secret. It looks at the Secret itself and not at what a watch saw
// of it: this is the last time that anybody looks.
func (r *Reconciler) releaseSecret(ctx context.Context, p *pass, key types.NamespacedName) error {
	secret, err := r.readSecret(ctx, key)
	if err != nil {
		return ignoreAbsent(err)
	}
	holder := holderPrefix + string(p.config.GetUID())
	if _, ok := secret.Annotations[holder]; !ok {
		return nil
	}
	return r.changeSecret(ctx, secret, func(o client.Object) {
		setAnnotation(o, holder, "")
		for annotation := range o.GetAnnotations() {
			if strings.HasPrefix(annotation, holderPrefix) {
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

// changeSecret writes a change of a Secret's metadata, unless somebody wrote to it since it was read. Neither the request
// nor the answer holds its data.
func (r *Reconciler) changeSecret(ctx context.Context, secret *corev1.Secret, do func(client.Object)) error {
	o := &metav1.PartialObjectMetadata{ObjectMeta: *secret.ObjectMeta.DeepCopy()}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	before := o.DeepCopy()
	do(o)
	err := r.client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if ignoreAbsent(err) != nil {
		return fmt.Errorf("writing finalizer of secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}

func ignoreAbsent(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
