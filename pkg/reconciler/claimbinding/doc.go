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
// A pass is a short list of steps, see lifecycle: find the managed resource or create it from the class, record claim and managed
// resource on each other, have package connection/copies copy the connection Secret, show the external name. settle alone writes
// conditions and events. A pass may stop anywhere and be repeated.
//
// # One claim, one managed resource
//
// The name of a managed resource that is created for a claim follows from the claim's UID, and a label holds that UID. A later pass
// looks for the label in the API server, not in a cache, before it creates anything; two concurrent passes meet at the name. So
// there is at most one, wherever a process dies (N11, R268).
//
// # Consent
//
// A claim that names an existing managed resource gets it only where that allows it (N27): its spec.claimRef names the claim, with
// its UID or without one, or its annotation bowline.dev/allowed-namespaces lists the namespace. A released one still names its former
// claim, and so belongs to none until an administrator clears or changes spec.claimRef; a new claim of the same name has another UID.
//
// # Limits
//
// A class with spec.claims.max lists the claims that use it in its annotation bowline.dev/claims. Each entry is guarded by the
// resource version, so that no race exceeds the limit; entries of deleted claims do not count. A managed resource that a deleted claim
// left counts until an administrator clears its spec.claimRef.
//
// # Neighbours
//
// Packages claimscheduling and claimdefaulting run before this one and choose the class. Package secret runs after it and carries
// changes of the connection Secret to the copy.
package claimbinding
