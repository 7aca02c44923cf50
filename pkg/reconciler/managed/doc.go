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
// Before Create one guarded write stores the finalizer, the external name, resolved references and the time at which
// creation begins. After it the first write stores what would be lost: the connection secret, which also carries the
// external name. Then one write records the external name and the success. A pass that finds a creation without a result
// goes on where the external name was chosen beforehand, since Observe then finds what was created, and where the client
// repeats its answer (CreateReplayer) or finds what it made (TypedCreateFinder); any other kind whose names the external
// system makes up waits for a person (N5).
//
// # What users may say
//
// Management policies, deletion policy and reclaim policy decide which steps may act; fields may refer to other objects
// and to Secrets; initProvider counts at creation only; what the external system chose is stored in empty fields. The
// steps do all of that for every kind: a client sees complete parameters and returns what it found.
//
// # Coming back
//
// Errors are repeated later each time; those that ask for patience (a method RetryAfter) when they say, and those that
// repeating cannot heal (Terminal) when something changes. Settled objects are polled, at an interval that the kind, the
// client or the object chooses; users' changes and unfinished objects go first. Wakeups brings back objects of which
// nothing changed but something that they depend on.
//
// # Without doing it
//
// Plan runs the steps of a pass up to Observe and says what the others would do. Reasons explains every reason that
// events give.
//
// # Being watched
//
// Metrics, spans and the log tell how a kind fares: see WithMetrics, WithTracerProvider, WithLogger and package telemetry. What
// they say of errors has no secrets: the reconciler knows connection details and secret inputs, a SecretKeeper tells the rest.
//
// # API requests
//
// Creating takes five writes (one more where the client chooses credentials, or the external system chose settings), a
// spec change two, a deletion three, and a poll that finds nothing changed none. Reads come from the manager's
// cache. See CacheOptions for how to keep that cache small.
package managed
