// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managed reconciles managed resources: objects that each stand for one resource in an external system.
//
// A provider author writes a connecter and a client for a kind; the reconciler does the rest: it creates, updates and
// deletes the external resource, keeps it as declared, publishes how to use it in a Secret and says in conditions and
// events what it does.
//
//	r := managed.NewReconciler(mgr, resource.ManagedKind(v1alpha1.BucketGroupVersionKind),
//		managed.WithTypedExternalConnecter(&connecter{client: mgr.GetClient()}))
//	return ctrl.NewControllerManagedBy(mgr).Named(name).For(&v1alpha1.Bucket{}).Complete(r)
//
// # The one idea
//
// A pass is a short list of steps, see lifecycle. Each step lives in the file of its name, does one thing and ends in
// an outcome; settle alone turns outcomes into conditions, events, a status write and the time of the next pass.
// Passes may stop anywhere and be repeated: what must survive a crash is written before the act that would be lost.
//
// # Creating, crash-proof
//
// Before Create one guarded write stores the finalizer, the external name and the time at which creation begins.
// After it the first write stores what would be lost: the connection secret, which also carries the external name.
// Then one write records the external name and the success. A pass that finds a creation without a result goes on
// where the external name was chosen beforehand, since Observe then finds what was created; a kind whose names the
// external system makes up waits for a person (N5).
//
// # API requests
//
// Creating takes five writes at most, a spec change two, a deletion three, and a poll that finds nothing changed none.
// Reads come from the manager's cache. See CacheOptions for how to keep that cache small.
package managed
