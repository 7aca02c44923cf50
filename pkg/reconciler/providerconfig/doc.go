// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providerconfig keeps ProviderConfigs from disappearing while they are in use (N12, K60).
//
//	r := providerconfig.NewReconciler(mgr, v1.ProviderConfigGroupVersionKind,
//		providerconfig.WithUsers(v1.BucketGroupVersionKind, v1.TopicGroupVersionKind),
//		providerconfig.WithSecrets(secrets))
//	return r.SetupWithManager(mgr)
//
// # The one idea
//
// What is cheap to know says when to protect; only what is certain says when to stop. The watches that the controllers
// of managed resources need anyway count the users of each configuration. From the first user on the configuration and
// the Secret with its credentials carry a finalizer. Once the count is zero, or somebody deletes the configuration, the
// API server itself is asked, about every kind whose definition carries the label bowline.dev/provider-config with the
// group of the configuration, whichever process serves that kind. If it cannot tell, the finalizers stay (N29).
//
// # Which object uses which configuration
//
// A cluster-scoped object uses the ProviderConfig that it names, else the one called default. A namespaced object uses
// a ProviderConfig of its own namespace if it says so, else a ClusterProviderConfig (N2). Each of these kinds needs a
// Reconciler of its own, and one process that runs it.
//
// # Crashes
//
// Every write is guarded by a resource version, and a pass may stop between any two. What a configuration holds is
// written on the configuration before it is held, and erased after it was let go; a Secret says who holds it, so that
// several configurations, of several providers too, can hold one Secret.
package providerconfig
