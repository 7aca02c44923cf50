// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Source returns the connection Secret of a managed resource, nil if it has none. One that the managed resource does not control
// does not count.
func (c *Copier) Source(ctx context.Context, mg resource.BindableManaged) (*corev1.Secret, error) {
	return readSource(ctx, c.client, mg)
}

func readSource(ctx context.Context, from client.Reader, mg resource.BindableManaged) (*corev1.Secret, error) {
	key, declared := sourceKey(mg)
	if !declared {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := from.Get(ctx, key, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the connection Secret of the managed resource: %w", err)
	}
	if err != nil || secret.Type != xpv1.SecretTypeConnection || !metav1.IsControlledBy(secret, mg) {
		return nil, nil
	}
	return secret, nil
}

// isFrom is true for a copy that names the source.
func isFrom(secret, source *corev1.Secret) bool {
	from, known := meta.PropagatedFrom(secret)
	return known && from.UID == source.GetUID() && from.NamespacedName == client.ObjectKeyFromObject(source)
}

// isFromManaged is true for a copy that names the connection Secret of the managed resource, whether that exists or not.
func isFromManaged(secret *corev1.Secret, mg resource.BindableManaged) bool {
	if secret == nil || mg == nil {
		return false
	}
	key, declared := sourceKey(mg)
	from, known := meta.PropagatedFrom(secret)
	return declared && known && from.NamespacedName == key
}

func sourceKey(mg resource.BindableManaged) (key types.NamespacedName, declared bool) {
	ref, declared := resource.ConnectionSecretReference(mg)
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, declared
}

// inNamespace accepts Secrets of a namespace; empty: all.
func inNamespace(namespace string) func(types.NamespacedName) bool {
	return func(at types.NamespacedName) bool { return namespace == "" || at.Namespace == namespace }
}

// destinations returns the UIDs of the Secrets that the source consents to and whose name is accepted.
func destinations(source *corev1.Secret, accept func(types.NamespacedName) bool) sets.Set[types.UID] {
	uids := sets.New[types.UID]()
	if source != nil {
		for uid, at := range meta.PropagatesTo(source) {
			if accept(at) {
				uids.Insert(uid)
			}
		}
	}
	return uids
}

// agreed returns the source with its consent to the copy, and to no earlier copy of that name.
func agreed(source, to *corev1.Secret) *corev1.Secret {
	key, wanted := client.ObjectKeyFromObject(to), source.DeepCopy()
	for uid := range destinations(source, func(at types.NamespacedName) bool { return at == key }) {
		if uid != to.GetUID() {
			meta.ForbidPropagationTo(wanted, uid)
		}
	}
	meta.AllowPropagationTo(wanted, to)
	return wanted
}

func agrees(source, to *corev1.Secret) bool {
	return maps.Equal(agreed(source, to).Annotations, source.Annotations)
}

// revoke takes back the consent of the source to some Secrets. A source that is nil consents to nothing.
func (c *Copier) revoke(ctx context.Context, source *corev1.Secret, from sets.Set[types.UID]) error {
	if source == nil {
		return nil
	}
	wanted := source.DeepCopy()
	for uid := range from {
		meta.ForbidPropagationTo(wanted, uid)
	}
	return c.annotate(ctx, source, wanted.Annotations)
}

// annotate stores annotations of the source, and updates source to what is stored then. One that is gone consents to nothing.
func (c *Copier) annotate(ctx context.Context, source *corev1.Secret, annotations map[string]string) error {
	if maps.Equal(annotations, source.Annotations) {
		return nil
	}
	changed, err := objects.Patch(ctx, c.client, source, func(s *corev1.Secret) { s.Annotations = annotations })
	if err == nil {
		*source = *changed
	}
	return client.IgnoreNotFound(err)
}
