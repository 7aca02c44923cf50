// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimdefaulting gives claims that do not say which class they want the default class (contract 4.18).
//
//	return claimdefaulting.NewReconciler(mgr,
//		resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
//		resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
//	).SetupWithManager(mgr)
//
// # The one idea
//
// A default is a default only while it is the only one. There is a defaulter for each class kind that is for a claim kind, and
// each knows the classes of all of them, so that none acts while there are several classes with the annotation
// resourceclass.crossplane.io/is-default-class: "true", of whatever kind (N10).
//
// It writes spec.classRef and nothing else. A claim for which there is no default class, or no single one, is left to package
// claim, which says so on the claim; it is looked at again as soon as classes change. Package claimscheduling is for claims with
// a selector, also those that nothing matches; package claimbinding goes on with the class.
//
// It lists and watches definitions of kinds, and the metadata of all classes for its claims, also those of other providers. While
// it may not, it chooses nothing and logs why: a class that it cannot see might be the one.
package claimdefaulting
