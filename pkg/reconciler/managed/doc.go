// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managed reconciles managed resources: objects that each stand for one resource in an external system.
//
// A provider author writes a connecter and a client for a kind (external.go, package failure); the reconciler creates, updates and
// deletes the external resource, keeps it as declared, publishes its connection details in a Secret and reports in conditions
// and events.
//
//	r := managed.NewReconciler(mgr, resource.ManagedKind(v1alpha1.BucketGroupVersionKind),
//		managed.WithTypedExternalConnecter(&connecter{client: mgr.GetClient()}))
//	return ctrl.NewControllerManagedBy(mgr).Named(name).For(&v1alpha1.Bucket{}).Complete(r)
//
// # The one idea
//
// A pass is a short list of steps, see lifecycle in reconciler.go. Each step is in the file of its name, does one thing and
// ends in an outcome; settle alone turns outcomes into conditions, events, a status write and a requeue. Passes may stop
// anywhere and be repeated: what must survive a crash is written before the act that would be lost.
//
// # Creating, crash-proof
//
// Before Create one guarded write stores the finalizer, the external name, resolved references and the time at which
// creation begins. After it the first write stores what would be lost: the connection Secret, which also carries the
// external name. Then one write records the external name and the success. A pass that finds a creation without a result
// continues where the external name was chosen beforehand, since Observe then finds what was created, and where the client
// repeats its answer (CreateReplayer) or finds what it created (TypedCreateFinder); any other kind whose names the external
// system chooses needs manual intervention (N5).
//
// # Choices of users
//
// Management policies, deletion policy and reclaim policy decide which steps may act; fields may refer to other objects
// and to Secrets; initProvider counts at creation only; what the external system chose is stored in empty fields. The
// steps do all of that for every kind: a client gets complete parameters and returns what it found.
//
// # Requeue
//
// Errors are retried with backoff; those with a method RetryAfter when they ask, and Terminal ones at the poll or when
// something changes. Settled objects are polled, at an interval that the kind, the client or the object chooses; users'
// changes and unfinished objects have priority. Wakeups enqueues objects of which only a dependency changed.
//
// # Dry run
//
// Plan runs the steps of a pass up to Observe and returns what the others would do. Reasons explains every reason of events.
//
// # Monitoring
//
// See WithMetrics, WithTracerProvider, WithLogger and package telemetry. Messages have no secrets: the reconciler knows
// connection details and secret inputs, a SecretKeeper the rest.
//
// # API requests
//
// Creating takes five writes (one more where the client chooses credentials, or the external system chose settings), a
// spec change two, a deletion three, and a poll that finds nothing changed none. Reads come from the manager's
// cache. See CacheOptions for how to keep that cache small.
package managed
