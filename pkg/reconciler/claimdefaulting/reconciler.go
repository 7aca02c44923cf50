// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimdefaulting assigns the default class to claims without a class selector.
//
//	return claimdefaulting.NewReconciler(mgr,
//		resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
//		resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
//	).SetupWithManager(mgr)
//
// A default class has the annotation resourceclass.crossplane.io/is-default-class: "true". A claim gets it only if it is the only one
// among the classes of all kinds, and only from the defaulter of its kind (N10). Package claimscheduling describes the rest, which is
// the same.
package claimdefaulting

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/reconciler/internal/scheduling"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Reconciler gives claims without a class selector the default class of one kind (A61).
type Reconciler = scheduling.Assigner

// NewReconciler returns a reconciler for one pair of kinds, which must be in the manager's scheme (R5).
func NewReconciler(mgr manager.Manager, claims resource.ClaimKind, class resource.ClassKind) *Reconciler {
	return scheduling.NewAssigner(mgr, scheduling.Defaulting, claims, class)
}
