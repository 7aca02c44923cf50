// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plane wires the parts of a control plane: the API server, the local cloud and the controllers of all providers.
//
//	server, service, err := plane.APIServer(dataDir, serverOptions, log)
//	err = plane.Run(ctx, func(ctx context.Context, running *plane.Stack) error {
//		return running.Start(ctx, service) // returns when the service is ready
//	}, cleanUp)
//
// Each part is a Service. A Stack (stack.go) gives several services one lifetime: they stop in the reverse order of their
// start, and the failure of one stops all. The commands apiserver, cloud and controllers run one service each; up runs the
// three, wired by Plane (up.go): the controllers use a service account of their own (identities.go, token.go), and never the
// administrator's certificate.
package plane
