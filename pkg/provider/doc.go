// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider says what a provider is: its kinds, how the external system behind them is reached, and how all of it
// is registered, allowed and run.
//
// The one idea: a provider is a value. Whoever runs it takes everything from that value, so nothing is forgotten and
// nothing is written twice.
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
// # What ties the parts together
//
// A kind uses the configurations of the group that its definition names by the label bowline.dev/provider-config (N29):
// a cluster-scoped kind those of kind ProviderConfig, a namespaced one those of kind ProviderConfig in its namespace and
// ClusterProviderConfig (N2). Provider.Validate says what does not fit, all at once.
//
// # Plans
//
// Whoever wants to know what a pass would do, and nothing done, asks the reconciler of the kind, which Provider.Reconcilers
// returns without a controller (N8):
//
//	reconcilers, err := fcp.Provider().Reconcilers(mgr) // mgr is started, to read credentials
//	plan, err := reconcilers[kind].Plan(ctx, bucket)
package provider
