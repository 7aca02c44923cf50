// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller holds the controllers of the favourite cloud's provider: one for each managed kind, which calls
// the cloud through its SDK.
package controller

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/credentials"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// creationGrace is how long a creation that was cut off may still be under way. The cloud shows what it made at once, so
// this need not cover more.
const creationGrace = 5 * time.Second

// concurrency is how many objects of one kind are reconciled at once.
const concurrency = 10

// SetupWithManager adds all controllers of the provider to the manager (A73). The options are given to the reconciler
// of every kind.
func SetupWithManager(mgr ctrl.Manager, o ...managed.ReconcilerOption) error {
	secrets, err := credentials.NewSecrets(mgr)
	if err != nil {
		return err
	}
	c := &clouds{kube: mgr.GetClient(), secrets: secrets, http: &http.Client{Timeout: callTimeout}}
	return (&FavouriteDBInstanceController{clouds: c, options: o}).SetupWithManager(mgr)
}

// FavouriteDBInstanceController keeps FavouriteDBInstances and their database servers in step.
type FavouriteDBInstanceController struct {
	clouds  *clouds
	options []managed.ReconcilerOption
}

// SetupWithManager adds the controller to the manager.
func (c *FavouriteDBInstanceController) SetupWithManager(mgr ctrl.Manager) error {
	gvk := databasev1alpha3.FavouriteDBInstanceGroupVersionKind
	r := managed.NewReconciler(mgr, resource.ManagedKind(gvk), append([]managed.ReconcilerOption{
		managed.WithTypedExternalConnecter(databaseConnecter{clouds: c.clouds}),
		managed.WithDefaultName(nameOf),
		managed.WithCreationGracePeriod(creationGrace),
	}, c.options...)...)
	if err := managed.IndexProviderConfig(context.Background(), mgr, &databasev1alpha3.FavouriteDBInstance{}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(managed.ControllerName(gvk.GroupKind())).
		For(&databasev1alpha3.FavouriteDBInstance{}).
		Watches(&v1alpha3.ProviderConfig{}, c.clouds.whenConfigChanges(mgr, r)).
		WatchesRawSource(c.clouds.whenSecretChanges(mgr, r)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// whenConfigChanges reconciles the users of a ProviderConfig that changed.
func (c *clouds) whenConfigChanges(mgr ctrl.Manager, r *managed.Reconciler) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, config client.Object) []reconcile.Request {
		users, err := r.Users(ctx, config.GetName())
		if err != nil {
			mgr.GetLogger().Error(err, "Cannot find the users of a ProviderConfig", "name", config.GetName())
		}
		return users
	})
}

// whenSecretChanges reconciles the users of all ProviderConfigs whose credentials changed.
func (c *clouds) whenSecretChanges(mgr ctrl.Manager, r *managed.Reconciler) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.secrets.OnChange(func(secret types.NamespacedName) {
			names, err := c.configsUsing(ctx, secret)
			if err != nil {
				mgr.GetLogger().Error(err, "Cannot find the ProviderConfigs of a Secret", "secret", secret)
			}
			for _, name := range names {
				users, err := r.Users(ctx, name)
				if err != nil {
					mgr.GetLogger().Error(err, "Cannot find the users of a ProviderConfig", "name", name)
				}
				for _, user := range users {
					queue.Add(user)
				}
			}
		})
		return nil
	})
}
