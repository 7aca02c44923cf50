// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// resync is how often every object is reconciled although nothing happened to it, also one that needs manual intervention
// (R223).
const resync = time.Hour

// CacheOptions returns options for a manager's cache that hold what the reconciler reads and no more: of all Secrets
// only connection Secrets, and no managed fields. Objects are reconciled every hour although nothing happened to them.
func CacheOptions() cache.Options {
	period := resync
	return cache.Options{
		SyncPeriod:       &period,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Field: fields.OneTermEqualSelector("type", string(xpv1.SecretTypeConnection))},
		},
	}
}
