// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimbinding binds resource claims to managed resources.
//
//	r := claimbinding.NewReconciler(mgr,
//		resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
//		resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
//		resource.ManagedKind(v1alpha3.FavouriteDBInstanceGroupVersionKind),
//		claimbinding.WithManagedConfigurators(
//			claimbinding.ManagedConfiguratorFn(ConfigureFavouriteDBInstance),
//			claimbinding.NewObjectMetaConfigurator(mgr.GetScheme()),
//		))
//	return r.SetupWithManager(mgr)
//
// # The one idea
//
// A pass is a short list of steps, see lifecycle: find the managed resource or make it from the class, let claim and managed
// resource name each other, copy the connection Secret, show the external name. Each step lives in the file of its name;
// settle alone writes conditions and events. Passes may stop anywhere and be repeated.
//
// # One claim, one managed resource
//
// A managed resource that is made for a claim has a name that follows from the claim's UID, and a label with that UID. A
// pass that is not the first looks for the label in the API server itself, not in a cache, before it makes anything; two
// passes that make it at the same time meet at the name. So wherever a process dies, there is one at most (N11, R268).
//
// # Who gets what exists
//
// A claim that names an existing managed resource gets it only where that one agrees (N27): its spec.claimRef names the claim,
// with its UID or without one, or its annotation bowline.dev/allowed-namespaces lists the namespace. One that was released
// by a claim still names it, and so is nobody's until an administrator clears or changes spec.claimRef; a new claim of the
// same name has another UID.
//
// # Limits
//
// A class with spec.claims.max lists in its annotation bowline.dev/claims who uses it. Each entry is written guarded by the
// resource version, so that no race exceeds the limit; entries of claims that are gone count no more. What such claims left to
// an administrator counts until spec.claimRef is cleared.
//
// # What becomes of it
//
// Package claimscheduling and package claimdefaulting run before this one: they choose the class. Package secret runs after
// it: it carries later changes of the connection Secret on.
package claimbinding
