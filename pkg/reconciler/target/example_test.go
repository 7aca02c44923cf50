// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A provider whose program runs without the core lets targets connect to one of its kinds.
func Example() {
	setup := func(mgr manager.Manager) error {
		return target.NewReconciler(mgr,
			resource.TargetKind(workloadv1alpha1.KubernetesTargetGroupVersionKind),
			resource.ManagedKind(shop.ItemGroupVersionKind)).SetupWithManager(mgr)
	}
	_ = setup
}
