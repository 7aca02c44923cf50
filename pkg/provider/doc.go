// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider describes a provider, its kinds and how it is set up and run.
//
// A provider is one value, which programs, tests and tools share:
//
//	func Provider() provider.Provider {
//		return provider.Provider{
//			Name:        "fcp",
//			CRDs:        crds.FS,
//			AddToScheme: apis.AddToScheme,
//			Configs:     []resource.ProviderConfig{&v1.ProviderConfig{}},
//			Kinds:       []provider.Kind{provider.KindOf(&v1.Bucket{}, clouds, newBucketClient)},
//		}
//	}
//
//	func main() { provider.Main(fcp.Provider()) }
//
// Here clouds is a clients.Factory: package clients creates the clients of the external system and shares them.
//
// A kind uses the ProviderConfigs of the group in the label bowline.dev/provider-config of its definition (N29): a
// cluster-scoped kind those of kind ProviderConfig, a namespaced one those of kind ProviderConfig in its namespace and
// ClusterProviderConfig (N2). Provider.Validate returns everything that does not fit.
//
// # Plans
//
// Provider.Reconcilers returns reconcilers without controllers, which compute what a reconcile would do (N8):
//
//	reconcilers, err := fcp.Provider().Reconcilers(mgr) // mgr is started, to read credentials
//	plan, err := reconcilers[kind].Plan(ctx, bucket)
package provider
