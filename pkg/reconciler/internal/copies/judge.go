// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// IsFrom is true for a copy that says that its content is from the source.
func IsFrom(secret, source *corev1.Secret) bool {
	from, known := meta.PropagatedFrom(secret)
	return known && from.UID == source.GetUID() && from.NamespacedName == client.ObjectKeyFromObject(source)
}

// IsOfLost is true for a copy that says that its content is from a former source of the same name.
func IsOfLost(secret, source *corev1.Secret) bool {
	from, known := meta.PropagatedFrom(secret)
	return known && from.UID != source.GetUID() && from.NamespacedName == client.ObjectKeyFromObject(source)
}

// IsImmutable is true for a Secret whose data nobody can change.
func IsImmutable(secret *corev1.Secret) bool { return secret.Immutable != nil && *secret.Immutable }

// FullQuota returns the name of the ResourceQuota that keeps a Secret from being made, as the error says; none for other errors.
// How much of it is used says the error too, but that changes all the time.
func FullQuota(err error) string {
	if !apierrors.IsForbidden(err) {
		return ""
	}
	_, after, _ := strings.Cut(err.Error(), "exceeded quota: ")
	quota, _, _ := strings.Cut(after, ",")
	return quota
}
