// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/credentials"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	namespacedcomputev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// setupProviderConfigs adds the controllers that keep provider configurations, and their credentials, while they are in
// use (N12, N29).
func setupProviderConfigs(mgr ctrl.Manager, secrets *credentials.Secrets) error {
	cluster := providerconfig.WithUsers(
		databasev1alpha3.FavouriteDBInstanceGroupVersionKind, networkv1alpha3.NetworkGroupVersionKind)
	namespaced := providerconfig.WithUsers(namespacednetworkv1alpha3.NetworkGroupVersionKind,
		namespacednetworkv1alpha3.SubnetGroupVersionKind, namespacedcomputev1alpha3.NodeGroupGroupVersionKind)
	for _, config := range []struct {
		kind  schema.GroupVersionKind
		users providerconfig.Option
	}{
		{v1alpha3.ProviderConfigGroupVersionKind, cluster},
		{namespacedv1alpha3.ClusterProviderConfigGroupVersionKind, namespaced},
		{namespacedv1alpha3.ProviderConfigGroupVersionKind, namespaced},
	} {
		r := providerconfig.NewReconciler(mgr, config.kind, config.users, providerconfig.WithSecrets(secrets))
		if err := r.SetupWithManager(mgr); err != nil {
			return err
		}
	}
	return nil
}
