// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimscheduling gives claims with a class selector a class that has the labels (contract 4.17).
//
//	return claimscheduling.NewReconciler(mgr,
//		resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
//		resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
//	).SetupWithManager(mgr)
//
// # The one idea
//
// There is a scheduler for each class kind that is for a claim kind, and each knows the classes of all of them. So all agree on
// the class that a claim gets: the first by group, kind and name of those that match and are for the claim's namespace. If none
// is for it, the first that matches is chosen all the same, so that package claimbinding says NotAllowed. Only the scheduler
// whose kind it is of acts. Should two see different classes for a moment, the first write wins, since each is guarded by the
// resource version.
//
// It writes spec.classRef and nothing else. A claim that no class matches is left to package claim, which says so on the claim;
// it is looked at again as soon as classes change. Package claimdefaulting is for claims without a selector, package
// claimbinding goes on with the class.
//
// It lists and watches definitions of kinds, and all classes for its claims, also those of other providers. While it may not, it
// chooses nothing and logs why: a class that it cannot see might be the one. It gets namespaces if classes are for some only.
package claimscheduling
