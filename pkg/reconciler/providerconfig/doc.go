// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providerconfig keeps ProviderConfigs and their credentials from being deleted while they are in use (N12, K60).
//
//	r := providerconfig.NewReconciler(mgr, v1.ProviderConfigGroupVersionKind,
//		providerconfig.WithUsers(v1.BucketGroupVersionKind, v1.TopicGroupVersionKind),
//		providerconfig.WithSecrets(secrets))
//	return r.SetupWithManager(mgr)
//
// Watches count the users of each ProviderConfig; from the first user on, it and its Secret carry a finalizer. Counts are
// enough to protect, but not to release: when the count is zero or the ProviderConfig is deleted, the API server is asked for
// users of every kind whose definition carries the label bowline.dev/provider-config with the group of the ProviderConfig,
// also of kinds that other processes serve. The finalizers stay if it cannot answer (N29).
//
// # Users
//
// A cluster-scoped object uses the ProviderConfig that it names, by default the one called default. A namespaced object uses
// the ProviderConfig of its namespace if it names that kind, otherwise a ClusterProviderConfig (N2). Each kind of ProviderConfig
// needs one Reconciler, in one process.
//
// # Crashes
//
// A pass may stop between any two writes, each of which is guarded by a resource version. A ProviderConfig records the Secrets
// that it protects before it protects them, and until it has released them. A Secret records each ProviderConfig that protects
// it, since there can be several, of several providers.
package providerconfig
