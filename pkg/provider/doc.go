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
// # Clients
//
// How a client of the external system is made is said once, whatever the number of kinds and scopes:
//
//	var clouds = &provider.Clients[v1.ProviderConfigSpec, *sdk.Client]{
//		New: func(_ context.Context, c provider.Connection[v1.ProviderConfigSpec]) (*sdk.Client, error) {
//			return sdk.NewClient(c.Settings.Endpoint, string(c.Credentials), c.HTTPClient)
//		},
//	}
//
// The package finds the configuration that an object uses (N2), reads its credentials, makes one client for each
// configuration, and shares it between all passes over all objects that use it. A configuration that changes, or
// credentials that are rotated, make a new client at once, and its users look again; passes that hold the old client end
// with it, and then it is closed. So is the client of a configuration that is gone, or that nobody used for a while.
// The limits of the configuration, the breaker and a timeout are part of the transport that the client is given.
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
