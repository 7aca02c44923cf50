// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A provider binds each claim kind that a class of it satisfies. The configurator carries settings from class and claim.
func Example() {
	configure := func(_ context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error {
		claim, class, item := cm.(*shop.ItemClaim), cs.(*shop.ItemClass), mg.(*shop.Item)
		item.Spec.ForProvider = class.SpecTemplate.ForProvider
		if claim.Spec.Size == nil {
			return nil
		}
		if of := item.Spec.ForProvider.Size; of != nil && *of != *claim.Spec.Size {
			return errors.New("spec.size contradicts the class: leave it out, or use another class")
		}
		item.Spec.ForProvider.Size = claim.Spec.Size
		return nil
	}
	setup := func(mgr manager.Manager) error {
		return claimbinding.NewReconciler(mgr,
			resource.ClaimKind(shop.ItemClaimGroupVersionKind),
			resource.ClassKind(shop.ItemClassGroupVersionKind),
			resource.ManagedKind(shop.ItemGroupVersionKind),
			claimbinding.WithManagedConfigurators(
				claimbinding.ManagedConfiguratorFn(configure),
				claimbinding.NewObjectMetaConfigurator(mgr.GetScheme()),
			)).SetupWithManager(mgr)
	}
	_ = setup
}
