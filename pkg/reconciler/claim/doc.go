// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claim says on claims why they get nothing, so that no claim is ever silent (N10).
//
//	return claim.NewReconciler(mgr, resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind)).SetupWithManager(mgr)
//
// # The one idea
//
// Who serves a claim speaks for it; this controller speaks while nobody does. A scheduler or a defaulter cannot say that no
// class matches, since another provider's may. There is one controller of this kind for each claim kind, it belongs to the core,
// and it sees the classes of all providers. It writes a claim's conditions only
//
//   - while the claim has neither class nor managed resource: NoMatchingClass, AmbiguousDefaultClass, or, if a class was chosen
//     but nobody gives it to the claim, Binding;
//   - while those that it has are of kinds that no provider offers for such claims: ClassNotFound. A claim that package
//     claimbinding began with, and that is not bound, gets time before.
//
// A deleted claim that nobody serves goes: it takes off the finalizer of package claimbinding if the claim names no managed
// resource and nothing that a provider offers. Each write is guarded by the resource version.
package claim
