// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

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
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// propagate gives the claim its copy of the connection Secret (R270), controlled by the claim (R272), and lets both Secrets
// agree that changes go on to it (R271). Carrying later changes is for package secret.
func (r *Reconciler) propagate(ctx context.Context, p *pass) outcome {
	to := p.claim.GetWriteConnectionSecretToReference()
	source, err := r.source(ctx, r.client, p.managed)
	if err != nil {
		return fail(err)
	}
	if err := r.withdraw(ctx, p, source, to); err != nil {
		return fail(err)
	}
	if to == nil || to.Name == "" { // R278
		return next()
	}
	key := types.NamespacedName{Namespace: p.claim.GetNamespace(), Name: to.Name}
	r.waiting.wait(client.ObjectKeyFromObject(p.claim), secretTopic(key.Namespace, key.Name))
	if source == nil {
		return await(xpv1.ReasonBinding, fmt.Sprintf("Managed resource %s %q has published no connection details yet. Wait until it does; "+
			"if its kind has none, remove spec.writeConnectionSecretToRef.", r.managedKind.Kind, p.managed.GetName()))
	}
	var content map[string][]byte
	content, p.mistaken = connection.Content(p.claim, source.Data)
	have, err := r.copyAt(ctx, p.claim, key)
	if err == nil {
		have, err = r.writeCopy(ctx, p, key, have, source, content)
	}
	switch {
	case isForeign(err):
		if err := r.withdraw(ctx, p, source, nil); err != nil { // it may have been the claim's
			return fail(err)
		}
		return refuse(xpv1.ReasonBinding, err)
	case err != nil:
		return fail(fmt.Errorf("writing the connection Secret of the claim: %w", err))
	}
	return r.agree(ctx, source, have)
}

// source returns the connection Secret of a managed resource, nil if it has none. One that somebody else controls is none.
func (r *Reconciler) source(ctx context.Context, from client.Reader, mg resource.BindableManaged) (*corev1.Secret, error) {
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

// copyAt returns the claim's Secret of that name, nil if there is none. Connection Secrets are cached; whether another one is
// there can only be told by the API server, and only its metadata are read.
func (r *Reconciler) copyAt(ctx context.Context, claim resource.Claim, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && !isCopy(secret, claim) {
		err = &foreignSecretError{key.Name}
	}
	return secret, err
}

// isCopy is true for a Secret that can only be a copy of ours.
func isCopy(secret *corev1.Secret, claim resource.Claim) bool {
	return secret.Type == xpv1.SecretTypeConnection && metav1.IsControlledBy(secret, claim)
}

// writeCopy makes the copy in one write that says whose it is and where its content is from. A copy of another source, one that
// was published anew, gets the new content; that of the same source is left to package secret.
func (r *Reconciler) writeCopy(ctx context.Context, p *pass, key types.NamespacedName, have, source *corev1.Secret,
	content map[string][]byte) (*corev1.Secret, error) {
	if have == nil {
		made := &corev1.Secret{Type: xpv1.SecretTypeConnection, Data: content}
		made.Namespace, made.Name = key.Namespace, key.Name
		made.OwnerReferences = []metav1.OwnerReference{meta.AsController(p.claim, r.claimKind)}
		meta.AllowPropagationFrom(made, source)
		err := r.client.Create(ctx, made)
		if !apierrors.IsAlreadyExists(err) {
			return made, err
		}
		if have, err = r.overtaken(ctx, p.claim, key); err != nil {
			return nil, err
		}
	}
	wanted := have.DeepCopy()
	meta.AllowPropagationFrom(wanted, source)
	if maps.Equal(wanted.Annotations, have.Annotations) {
		return have, nil
	}
	return write(ctx, r, have, func(secret *corev1.Secret) {
		secret.Annotations, secret.Data = wanted.Annotations, content
	})
}

// agree lets the source say that its content goes on to the copy, and no longer to earlier ones of that name.
func (r *Reconciler) agree(ctx context.Context, source, to *corev1.Secret) outcome {
	key := client.ObjectKeyFromObject(to)
	wanted := source.DeepCopy()
	for uid, name := range meta.PropagatesTo(source) {
		if name == key && uid != to.GetUID() {
			meta.ForbidPropagationTo(wanted, uid)
		}
	}
	meta.AllowPropagationTo(wanted, to)
	if maps.Equal(wanted.Annotations, source.Annotations) {
		return next()
	}
	if _, err := write(ctx, r, source, func(secret *corev1.Secret) { secret.Annotations = wanted.Annotations }); err != nil {
		return fail(fmt.Errorf("letting the connection Secret of the managed resource go on to the claim's: %w", err))
	}
	return next()
}
