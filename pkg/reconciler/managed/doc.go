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
//	return r.SetupWithManager(mgr, &v1alpha1.ProviderConfig{})
//
// A provider that was written for the published runtime may build the controller itself. Its objects then wake when they change
// themselves; with WatchesRawSource(r.Wakeups()) also for references, connection Secrets and calls in the background.
//
// # The one idea
//
// A pass is a short list of steps, see lifecycle in reconciler.go and docs/architecture.md. A step does one thing and ends in an
// outcome; settle alone turns outcomes into conditions, events, a status write and a requeue. Passes may stop anywhere and be
// repeated: what must survive a crash is written before the act that would be lost.
//
// # Creating, crash-proof
//
// Before Create one guarded write stores the finalizer, the external name, resolved references and the time at which creation
// begins. After it the connection Secret, which also carries the external name, is written, then the success. A pass that finds a
// creation without a result continues where the external name was chosen beforehand, since Observe then finds what was created, and
// where the client repeats its answer (CreateReplayer) or finds what it created (TypedCreateFinder); any other kind whose names the
// external system chooses needs manual intervention (N5).
//
// # Requeue
//
// Errors are retried with backoff; those with a method RetryAfter when they ask, and Terminal ones at the poll or when something
// changes. Settled objects are polled, at an interval that the kind, the client or the object chooses; users' changes and unfinished
// objects have priority. Wakeups enqueues objects of which only a dependency changed.
//
// # Monitoring and API requests
//
// See Plan for dry runs, Reasons for the reasons of events, WithMetrics, WithTracerProvider, WithLogger and package telemetry.
// Messages have no secrets: the reconciler knows connection details and secret inputs, a SecretKeeper the rest.
//
// Creating takes five writes (one more where the client chooses credentials, the external system chose settings, or external resources
// without labels are created through a configuration that does not permit to adopt them, as one for all namespaces), a spec change
// two, a deletion three, and a poll that finds nothing changed none. Reads come from the manager's cache, see CacheOptions.
package managed
