// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind turns four functions, get, create, update and delete in the vendor's own types, into a managed kind.
//
// The one idea: a vendor's answer, converted to the parameters of the kind, carries all that the runtime needs: whether the
// external resource exists, who owns it, which fields differ, which values the vendor chose, whether it is ready, and the
// connection details. Authors write none of that.
//
//	var networks = kind.Kind[*sdk.Client, v1.NetworkParameters, v1.NetworkObservation, network.Network]{
//		Identity: kind.ByLabel,
//		ID:       func(n *network.Network) string { return n.ID },
//		Get: func(ctx context.Context, c *sdk.Client, r *Request) (*network.Network, error) {
//			return c.GetNetwork(ctx, r.Name)
//		},
//		…
//	}
//
//	kinds := kind.Serve(system, networks, &v1.Network{}, &namespacedv1.Network{})
//
// Serve returns the rows of a provider.Provider, one for each scope of the kind.
//
// # Types
//
// Parameters and observation are Go types of an API package. Markers in the comments of their fields declare how a field
// behaves; the generator turns them into the method FieldRules (see parameters.Rules). Fields are matched with those of the
// vendor's types by name, in any spelling; the field tag vendor:"Name" names another one.
//
// A field of the vendor's type or of the observation with the tag connection:"key" is published in the connection Secret.
// In parameters the tag belongs on references to Secrets, whose values are published once they are sent. Empty values, 0 and
// false are left out, unless they are behind a pointer. Tags work in nested structs, not in lists and maps: Kind.Connection
// is for those.
//
// # Where to read on
//
// Identity decides how an interrupted create is recovered. Kind has functions that replace each conversion, Kind.Options
// adds options of the reconciler, and managed.ExternalClient is for kinds that do not fit. Package parameters compares,
// merges and late-initializes parameters as trees of JSON.
package kind
