// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind makes a managed kind of four functions: get, create, update and delete, in the vendor's own types.
//
// The one idea: what the vendor answers, converted to the kind's own parameters, tells everything else. So the runtime
// knows whether the external resource exists, whose it is, in which fields it differs, what the vendor chose for fields
// that the user left open, whether it is ready, and what one needs to connect; no author writes that down.
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
// Serve makes the rows of a provider.Provider, one for each scope that the kind has.
//
// # What a kind declares
//
// Its parameters and what it observes are Go types in an API package; markers in their comments say how fields behave,
// and reach this package as the method FieldRules (see parameters.Rules). Fields of the vendor's types are found by name,
// whatever the spelling; field tag vendor:"Name" says it where names differ. Fields of the vendor's type or of the
// observation with a tag connection:"key" go to the connection secret, and so do the values of Secrets that such fields of
// the parameters refer to, once they are sent. A field that is empty, 0 or false says that there is no such detail; a pointer
// to 0 or false is one. Fields in structs count, those in lists and maps do not: Kind.Connection tells what tags cannot.
//
// Identity says how the external resource comes by its name, and so what a crash in the middle of a creation can leave
// behind and how it heals. See its values.
//
// What does not fit goes through the escape hatches: functions of Kind that replace one conversion, Kind.Options for the
// reconciler, and managed.ExternalClient for full control.
package kind
