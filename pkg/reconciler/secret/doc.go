// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secret keeps the connection Secrets of claims in step with those of their managed resources.
//
//	return secret.NewReconciler(mgr).SetupWithManager(mgr)
//
// # The one idea
//
// Both sides must agree, by UID: the copy names its source, and the source names the copy (see package meta). What somebody
// writes on one side alone copies nothing, nor does an object that took the name of another. Caches say when there may be
// something to do; before a write the API server itself is asked for the source, its consent and the claim (R289).
//
// # What is copied
//
// Data and nothing else, from one connection Secret to another. Edits of the copy are reverted, keys that the source lost
// vanish, and keys that the copy's claim derives from those of the source are added, see package connection. A template
// that is wrong is the binder's to tell.
//
// # One controller for all kinds
//
// SetupWithManager adds one controller for the Secrets of all claims and all managed resources (R7). It learns what kinds
// of claims there are from the controllers of the copies and watches the metadata of claims of these kinds, so that a
// changed template counts at once. A kind is one of claims if its definition puts it into the category claim.
//
// A provider may instead add a controller for the Secrets of one managed kind, as the guides do it:
//
//	p := resource.NewPredicates(resource.AnyOf(
//		resource.AllOf(resource.IsControlledByKind(v1.ClaimGroupVersionKind), resource.IsPropagated()),
//		resource.AllOf(resource.IsControlledByKind(v1.BucketGroupVersionKind), resource.IsPropagator())))
//	return builder.ControllerManagedBy(mgr).
//		Named(secret.ControllerName(resource.ManagedKind(v1.BucketGroupVersionKind))).
//		Watches(&corev1.Secret{}, &resource.EnqueueRequestForPropagated{}).
//		For(&corev1.Secret{}).
//		WithEventFilter(p).
//		Complete(secret.NewReconciler(mgr))
//
// It watches no claims: a changed template counts there with the next change of either Secret.
//
// # Access
//
// The manager's cache should have managed.CacheOptions, so that it holds connection Secrets only (N30). The controller needs
// the verbs get, list, watch and patch on Secrets, and get, list and watch on all kinds of claims.
package secret
