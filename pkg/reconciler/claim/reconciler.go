// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claim reports on claims why nothing serves them (N10).
//
//	return claim.NewReconciler(mgr, resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind)).SetupWithManager(mgr)
//
// A scheduler or a defaulter cannot report that no class matches, since another provider's may. So one controller for each claim kind
// sees the classes of all providers. It writes the conditions of a claim only
//
//   - while the claim has neither class nor managed resource: NoMatchingClass, AmbiguousDefaultClass, or Binding if there is a class
//     for it and no controller assigns that;
//   - while finalizers of others keep a deleted claim that was ready: Deleting;
//   - while those that it names are of kinds that no provider offers for such claims: ClassNotFound or ResourceNotFound. A claim with the
//     finalizer of package claimbinding that is not bound gets time before.
//
// It removes that finalizer from a deleted claim that names no managed resource and nothing that a provider offers.
package claim

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/scheduling"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Reconciler reports on claims of one kind why nothing serves them (N10).
type Reconciler = scheduling.Reporter

// NewReconciler returns a reconciler for claims of a kind in the manager's scheme.
func NewReconciler(mgr manager.Manager, of resource.ClaimKind) *Reconciler {
	return scheduling.NewReporter(mgr, of)
}

// NewCache returns a cache for option NewCache of a manager. Of custom resource definitions it holds no more than the controllers of
// claims need: of those that define classes, which claims they are for. A usual cache holds the metadata of all definitions, and its
// controllers do not start while the definition of a class that is watched already is missing.
func NewCache(config *rest.Config, o cache.Options) (cache.Cache, error) {
	return watch.NewCache(config, o)
}
