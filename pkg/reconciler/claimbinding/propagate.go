// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
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
	have, err := r.copyAt(ctx, p.claim, key)
	switch {
	case err != nil:
	case source == nil && r.isFromManaged(p, have):
		p.mistaken = fmt.Errorf("the connection Secret of managed resource %s %q is gone: Secret %q stays as it is until that is published "+
			"again, which its controller does by itself", r.managedKind.Kind, p.managed.GetName(), key.Name)
		return next()
	case source == nil:
		return await(xpv1.ReasonBinding, fmt.Sprintf("Managed resource %s %q has published no connection details yet. Wait until it does; "+
			"if its kind has none, remove spec.writeConnectionSecretToRef.", r.managedKind.Kind, p.managed.GetName()))
	default:
		have, err = r.writeCopy(ctx, p, key, have, source)
	}
	switch {
	case isForeign(err):
		if err := r.revokeOutdated(ctx, p, source, nil); err != nil { // it may have been the claim's
			return fail(err)
		}
		return refuse(xpv1.ReasonBinding, err)
	case fullQuota(err) != "":
		return refuse(xpv1.ReasonBinding, fmt.Errorf("namespace %q has no room for Secret %q: remove what you do not need, or ask who "+
			"manages the namespace to raise its quota %q", key.Namespace, key.Name, fullQuota(err)))
	case err != nil:
		return fail(fmt.Errorf("writing the connection Secret of the claim: %w", err))
	case !isFrom(have, source): // it keeps what the source has no more
		return next()
	}
	p.mistaken = also(p.mistaken, r.missed(p, source))
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

// fullQuota returns the name of the ResourceQuota of the claim's namespace that an error is about, none for other errors. How much of
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
