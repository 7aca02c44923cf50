// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package worked_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimdefaulting"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

type FancySQLInstanceClaimSchedulingController struct{}

func (c *FancySQLInstanceClaimSchedulingController) SetupWithManager(mgr ctrl.Manager) error {
	name := strings.ToLower(fmt.Sprintf("scheduler.%s.%s.%s",
		databasev1alpha1.FancySQLInstanceKind,
		v1alpha3.FavouriteDBInstanceKind,
		v1alpha3.Group))

	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&databasev1alpha1.FancySQLInstance{}).
		WithEventFilter(resource.NewPredicates(resource.AllOf(
			resource.HasClassSelector(),
			resource.HasNoClassReference(),
			resource.HasNoManagedResourceReference(),
		))).
		Complete(claimscheduling.NewReconciler(mgr,
			resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
			resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
		))
}

type FancySQLInstanceClaimDefaultingController struct{}

func (c *FancySQLInstanceClaimDefaultingController) SetupWithManager(mgr ctrl.Manager) error {
	name := strings.ToLower(fmt.Sprintf("defaulter.%s.%s.%s",
		databasev1alpha1.FancySQLInstanceKind,
		v1alpha3.FavouriteDBInstanceKind,
		v1alpha3.Group))

	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&databasev1alpha1.FancySQLInstance{}).
		WithEventFilter(resource.NewPredicates(resource.AllOf(
			resource.HasNoClassSelector(),
			resource.HasNoClassReference(),
			resource.HasNoManagedResourceReference(),
		))).
		Complete(claimdefaulting.NewReconciler(mgr,
			resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
			resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
		))
}

type FavouriteDBInstanceClaimController struct{}

func (c *FavouriteDBInstanceClaimController) SetupWithManager(mgr ctrl.Manager) error {
	name := strings.ToLower(fmt.Sprintf("%s.%s.%s",
		databasev1alpha1.FancySQLInstanceKind,
		v1alpha3.FavouriteDBInstanceKind,
		v1alpha3.Group))

	p := resource.NewPredicates(resource.AnyOf(
		resource.HasClassReferenceKind(resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind)),
		resource.HasManagedResourceReferenceKind(resource.ManagedKind(v1alpha3.FavouriteDBInstanceGroupVersionKind)),
		resource.IsManagedKind(resource.ManagedKind(v1alpha3.FavouriteDBInstanceGroupVersionKind), mgr.GetScheme()),
	))

	r := claimbinding.NewReconciler(mgr,
		resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
		resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
		resource.ManagedKind(v1alpha3.FavouriteDBInstanceGroupVersionKind),
		claimbinding.WithManagedConfigurators(
			claimbinding.ManagedConfiguratorFn(ConfigureFavouriteDBInstance),
			claimbinding.NewObjectMetaConfigurator(mgr.GetScheme()),
		))

	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		Watches(&v1alpha3.FavouriteDBInstance{}, &resource.EnqueueRequestForClaim{}).
		For(&databasev1alpha1.FancySQLInstance{}).
		WithEventFilter(p).
		Complete(r)
}

// ConfigureFavouriteDBInstance is responsible for updating the supplied managed
// resource using the supplied resource class.
func ConfigureFavouriteDBInstance(_ context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error {
	if _, ok := cm.(*databasev1alpha1.FancySQLInstance); !ok {
		return errors.New("resource claim is not a FancySQLInstance")
	}

	class, ok := cs.(*v1alpha3.FavouriteDBInstanceClass)
	if !ok {
		return errors.New("resource class is not a FavouriteDBInstanceClass")
	}

	instance, ok := mg.(*v1alpha3.FavouriteDBInstance)
	if !ok {
		return errors.New("managed resource is not a FavouriteDBInstance")
	}

	instance.Spec = v1alpha3.FavouriteDBInstanceSpec{
		ResourceSpec: xpv1.ResourceSpec{
			WriteConnectionSecretToReference: &xpv1.SecretReference{
				Namespace: class.SpecTemplate.WriteConnectionSecretsToNamespace,
				Name:      string(cm.GetUID()),
			},
			ProviderConfigReference: class.SpecTemplate.ProviderConfigReference,
			ReclaimPolicy:           class.SpecTemplate.ReclaimPolicy,
		},
		ForProvider: class.SpecTemplate.ForProvider,
	}

	return nil
}

type FavouriteDBInstanceSecretController struct{}

func (c *FavouriteDBInstanceSecretController) SetupWithManager(mgr ctrl.Manager) error {
	p := resource.NewPredicates(resource.AnyOf(
		resource.AllOf(resource.IsControlledByKind(databasev1alpha1.FancySQLInstanceGroupVersionKind), resource.IsPropagated()),
		resource.AllOf(resource.IsControlledByKind(v1alpha3.FavouriteDBInstanceGroupVersionKind), resource.IsPropagator()),
	))

	return ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(fmt.Sprintf("connectionsecret.%s.%s", v1alpha3.FavouriteDBInstanceKind, v1alpha3.Group))).
		Watches(&corev1.Secret{}, &resource.EnqueueRequestForPropagated{}).
		For(&corev1.Secret{}).
		WithEventFilter(p).
		Complete(secret.NewReconciler(mgr))
}

// The documents use FavouriteCluster here, which this cloud does not have. Nothing about targets is special to clusters: whatever
// publishes how to connect to it will do.
type FavouriteClusterTargetController struct{}

func (c *FavouriteClusterTargetController) SetupWithManager(mgr ctrl.Manager) error {
	p := resource.NewPredicates(resource.HasManagedResourceReferenceKind(resource.ManagedKind(v1alpha3.FavouriteDBInstanceGroupVersionKind)))

	r := target.NewReconciler(mgr,
		resource.TargetKind(workloadv1alpha1.KubernetesTargetGroupVersionKind),
		resource.ManagedKind(v1alpha3.FavouriteDBInstanceGroupVersionKind))

	return ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(fmt.Sprintf("kubernetestarget.%s.%s", v1alpha3.FavouriteDBInstanceKind, v1alpha3.Group))).
		For(&workloadv1alpha1.KubernetesTarget{}).
		WithEventFilter(p).
		Complete(r)
}
