// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// copy gives the target its copy of the connection Secret (R297), controlled by the target (R302) and naming its source (R298).
func (r *Reconciler) copy(ctx context.Context, p *pass) outcome {
	key := secretKey(p)
	have, err := r.copyAt(ctx, p, key)
	if err == nil && !isInStep(p, have) {
		if o := r.confirm(ctx, p); o.end != goOn {
			return await(o)
		}
		have, err = r.writeCopy(ctx, p, key, have)
	}
	switch {
	case isForeign(err):
		if err := r.disown(ctx, p, p.source, key); err != nil {
			return fail(err)
		}
		return refuse(xpv1.ReasonConnecting, err)
	case fullQuota(err) != "":
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("namespace %q has no room for Secret %q: remove what you do not need, or ask who "+
			"manages the namespace to raise its quota %q", key.Namespace, key.Name, fullQuota(err)))
	case err != nil:
		return fail(fmt.Errorf("writing the connection Secret of the target: %w", err))
	}
	p.copy, p.mistaken = have, lost(p, have)
	return next()
}

// fullQuota returns the name of the ResourceQuota of the target's namespace that an error is about, none for other errors. How much of
// it is used says the error too, but that changes all the time.
func fullQuota(err error) string {
	if !apierrors.IsForbidden(err) {
		return ""
	}
	_, after, _ := strings.Cut(err.Error(), "exceeded quota: ")
	quota, _, _ := strings.Cut(after, ",")
	return quota
}

// agree lets the source say that its content goes on to the copy, and no longer to earlier ones of that name.
func (r *Reconciler) agree(ctx context.Context, p *pass) outcome {
	if !isFrom(p.copy, p.source) { // it keeps what the source has no more
		return next()
	}
	wanted := p.source.DeepCopy()
	for uid := range named(p.source, client.ObjectKeyFromObject(p.copy)) {
		if uid != p.copy.GetUID() {
			meta.ForbidPropagationTo(wanted, uid)
		}
	}
	meta.AllowPropagationTo(wanted, p.copy)
	if maps.Equal(wanted.Annotations, p.source.Annotations) {
		return next()
	}
	if o := r.confirm(ctx, p); o.end != goOn {
		return await(o)
	}
	if _, err := write(ctx, r, p.source, func(s *corev1.Secret) { s.Annotations = wanted.Annotations }); err != nil {
		return fail(fmt.Errorf("letting the connection Secret of the managed resource go on to the target's: %w", err))
	}
	return next()
}

// copyAt returns the target's Secret of that name as the cache has it, nil if that knows none.
func (r *Reconciler) copyAt(ctx context.Context, p *pass, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && !isCopy(secret, p) {
		err = &foreignSecretError{key.Name}
	}
	return secret, err
}

// writeCopy makes the copy in one write that says whose it is and where its content is from. A copy of another source gets the
// new content; that of the same source is left to package secret, unless it cannot be changed: then it is made anew. What only the
// copy still has stays: such a copy goes on to name the source that was lost, so that package secret leaves it alone.
func (r *Reconciler) writeCopy(ctx context.Context, p *pass, key types.NamespacedName, have *corev1.Secret) (*corev1.Secret, error) {
	if have != nil && isImmutable(have) && !hasContent(p, have) {
		err := r.client.Delete(ctx, have, client.Preconditions{UID: &have.UID})
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		have = nil
	}
	if have == nil {
		made, err := r.makeCopy(ctx, p, key)
		if err != nil {
			return nil, err
		}
		have = made
	}
	if isInStep(p, have) || isFrom(have, p.source) {
		return have, nil
	}
	return write(ctx, r, have, func(secret *corev1.Secret) {
		if len(keptKeys(p, have)) == 0 {
			meta.AllowPropagationFrom(secret, p.source)
		}
		secret.Data = content(p, have)
	})
}

// makeCopy returns the copy that it made, or that which is there already.
func (r *Reconciler) makeCopy(ctx context.Context, p *pass, key types.NamespacedName) (*corev1.Secret, error) {
	made := &corev1.Secret{Type: xpv1.SecretTypeConnection, Data: p.source.Data}
	made.Namespace, made.Name = key.Namespace, key.Name
	made.Labels = map[string]string{LabelTargetUID: string(p.target.GetUID())}
	made.OwnerReferences = []metav1.OwnerReference{meta.AsController(p.target, r.targetKind)}
	meta.AllowPropagationFrom(made, p.source)
	err := r.client.Create(ctx, made)
	if apierrors.IsAlreadyExists(err) {
		return r.overtaken(ctx, p, key)
	}
	if err == nil {
		p.note(ReasonConnected, fmt.Sprintf("Secret %q tells how to connect to managed resource %s %q.", key.Name,
			p.target.GetResourceReference().Kind, p.managed.GetName()))
	}
	return made, err
}

// overtaken returns the Secret that made it impossible to create the copy: the target's own, which the cache has not seen yet.
// The content of one that is not the target's is not read.
func (r *Reconciler) overtaken(ctx context.Context, p *pass, key types.NamespacedName) (*corev1.Secret, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := r.live.Get(ctx, key, found); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	if metav1.IsControlledBy(found, p.target) {
		if err := r.live.Get(ctx, key, secret); err != nil {
			return nil, err
		}
	}
	if !isCopy(secret, p) {
		return nil, &foreignSecretError{key.Name}
	}
	return secret, nil
}

// secretKey is where the copy of a prepared target is.
func secretKey(p *pass) types.NamespacedName {
	return types.NamespacedName{Namespace: p.target.GetNamespace(), Name: p.target.GetWriteConnectionSecretToReference().Name}
}

// isCopy is true for a Secret that can only be a copy of ours.
func isCopy(secret *corev1.Secret, p *pass) bool {
	return secret.Type == xpv1.SecretTypeConnection && metav1.IsControlledBy(secret, p.target)
}

// isFrom is true for a copy that says that its content is from the source.
func isFrom(secret, source *corev1.Secret) bool {
	from, ok := meta.PropagatedFrom(secret)
	return ok && from.UID == source.GetUID() && from.NamespacedName == client.ObjectKeyFromObject(source)
}

// foreignSecretError reports that the Secret which a target names is not the target's (R303).
type foreignSecretError struct{ name string }

func (e *foreignSecretError) Error() string {
	return fmt.Sprintf("secret %q exists and does not belong to this target: name another one in spec.connectionSecretRef, or remove it",
		e.name)
}

func isForeign(err error) bool {
	_, ok := errors.AsType[*foreignSecretError](err)
	return ok
}
