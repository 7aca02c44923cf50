// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// locate finds the connection Secret of the managed resource (R301). Where that is, is nothing that messages tell.
func (r *Reconciler) locate(ctx context.Context, p *pass) outcome {
	ref := p.target.GetResourceReference()
	if _, wanted := resource.ConnectionSecretReference(p.managed); !wanted {
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q does not publish how to connect to it: ask your platform team "+
			"to set its spec.writeConnectionSecretToRef", ref.Kind, ref.Name))
	}
	source, err := r.sourceOf(ctx, r.client, p.managed)
	if err != nil {
		return fail(err)
	}
	if source == nil {
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q has published no connection details yet: wait until it does; "+
			"if it lasts, ask your platform team", ref.Kind, ref.Name))
	}
	p.source = source
	return next()
}

// sourceOf returns the connection Secret of a managed resource, nil if it has none. One that somebody else controls is none.
func (r *Reconciler) sourceOf(ctx context.Context, from client.Reader, mg resource.BindableManaged) (*corev1.Secret, error) {
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
