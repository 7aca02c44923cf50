// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimscheduling assigns classes to claims with a class selector.
//
//	return claimscheduling.NewReconciler(mgr,
//		resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
//		resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
//	).SetupWithManager(mgr)
//
// There is a scheduler for each class kind of a claim kind, and all choose the same class: the first by group, kind and name of those
// that match and admit the claim's namespace. If none admits it, the first that matches is chosen, and package claimbinding reports
// NotAllowed. Only the scheduler of the chosen kind acts, and writes spec.classRef alone. Should two see different classes for a
// moment, the first write wins, since each is guarded by the resource version. Package claim reports on a claim that no class matches.
//
// A scheduler lists and watches definitions of kinds, and all classes for its claims, also those of other providers. Without that
// right it chooses nothing and logs why: a class that it cannot see might be the first. It gets namespaces if classes are for some
// only.
package claimscheduling

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/reconciler/internal/scheduling"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Reconciler gives claims that select a class by labels such a class of one kind (A60).
type Reconciler = scheduling.Assigner

// NewReconciler returns a reconciler for one pair of kinds, which must be in the manager's scheme (R5).
func NewReconciler(mgr manager.Manager, claims resource.ClaimKind, class resource.ClassKind) *Reconciler {
	return scheduling.NewAssigner(mgr, scheduling.Scheduling, claims, class)
}
