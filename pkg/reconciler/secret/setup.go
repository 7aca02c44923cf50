// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	// workers let all passwords of a large installation change at once.
	workers = 10
	// seldom bounds how long to wait before looking again where looking failed. Nothing depends on it: what may help wakes
	// the controller.
	seldom = 10 * time.Minute
)

// SetupWithManager adds one controller to the manager for the connection Secrets of all kinds (R7). Its name is
// connectionsecret. One is enough for a cluster; with several processes all but one have nothing to do.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	sources := resource.NewPredicates(resource.IsPropagator())
	sources.DeleteFunc = func(event.DeleteEvent) bool { return false } // a copy outlives its source as it is (R293)
	return builder.ControllerManagedBy(mgr).
		Named(name).
		Watches(&corev1.Secret{}, &resource.EnqueueRequestForPropagated{}, builder.WithPredicates(sources)).
		For(&corev1.Secret{}, builder.WithPredicates(resource.NewPredicates(resource.IsPropagated()))).
		WatchesRawSource(source.Func(r.claims.begin)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			NewQueue:                queue.Of(mgr),
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](conflictDelay, seldom),
		}).
		Complete(r)
}
