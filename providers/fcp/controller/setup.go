// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller holds the controllers of the favourite cloud's provider: one for each managed kind, which calls
// the cloud through its SDK.
//
// Its one idea: a kind is a row of kinds and a file of its own, which holds the external client. All else is shared: how
// to reach the cloud (connect.go), when to look again (wake.go), and how to judge what the cloud has (judge.go).
package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/bowline-dev/bowline/pkg/credentials"
	"github.com/bowline-dev/bowline/pkg/limits"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// creationGrace is how long a creation that was cut off may still be under way. The cloud shows what it made at once, so
// this need not cover more.
const creationGrace = 5 * time.Second

// concurrency is how many objects of one kind are reconciled at once.
const concurrency = 32

// A Controller keeps the objects of one managed kind and their external resources in step.
type Controller interface {
	// SetupWithManager adds the controller to the manager.
	SetupWithManager(mgr ctrl.Manager) error
}

// SetupWithManager adds all controllers of the provider to the manager (A73). The options are given to the reconciler
// of every kind.
func SetupWithManager(mgr ctrl.Manager, o ...managed.ReconcilerOption) error {
	secrets, err := credentials.NewSecrets(mgr)
	if err != nil {
		return err
	}
	c := &clouds{kube: mgr.GetClient(), secrets: secrets, transport: newTransport(), limits: limits.NewRegistry()}
	o = append([]managed.ReconcilerOption{managed.WithReferences(managed.NewReferences(mgr))}, o...)
	for _, kind := range kinds(c, o) {
		if err := kind.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	return setupProviderConfigs(mgr, secrets)
}

func kinds(c *clouds, o []managed.ReconcilerOption) []Controller {
	return []Controller{
		favouriteDBInstances(c, o),
		clusterNetworks(c, o),
		namespacedNetworks(c, o),
		subnets(c, o),
		nodeGroups(c, o),
	}
}

// A kind is the controller of one managed kind.
type kind[T resource.Managed] struct {
	gvk     schema.GroupVersionKind
	object  T // an empty one
	scope   scope
	clouds  *clouds
	client  func(cloud) managed.TypedExternalClient[T]
	own     []managed.ReconcilerOption // of this kind
	options []managed.ReconcilerOption // of all kinds
}

// SetupWithManager adds the controller to the manager (A73).
func (k *kind[T]) SetupWithManager(mgr ctrl.Manager) error {
	options := []managed.ReconcilerOption{
		managed.WithTypedExternalConnecter(connecter[T]{clouds: k.clouds, client: k.client}),
		managed.WithCreationGracePeriod(creationGrace),
		managed.WithConsistencyWindow(creationGrace),
	}
	options = append(append(options, k.own...), k.options...)
	r := managed.NewReconciler(mgr, resource.ManagedKind(k.gvk), options...)
	if err := managed.IndexProviderConfig(context.Background(), mgr, k.object); err != nil {
		return err
	}
	wake := waker{kube: mgr.GetClient(), limits: k.clouds.limits, scope: k.scope, reconciler: r, log: mgr.GetLogger()}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(managed.ControllerName(k.gvk.GroupKind())).
		For(k.object).
		WatchesRawSource(r.Wakeups()).
		WatchesRawSource(wake.whenSecretChanges(k.clouds.secrets.OnChange)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency})
	for _, config := range k.scope {
		b.Watches(config.object, wake.whenConfigChanges(), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return b.Complete(r)
}
