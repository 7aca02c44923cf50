// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trace shows what hangs on a claim: its class, its managed resource, the external resource and the Secrets.
//
//	root, err := trace.Build(ctx, cluster, claim)
//	err = trace.WriteTree(os.Stdout, root)
//
// # The one idea
//
// A trace is a tree of nodes, each with a state and what the object last said. A link that leads nowhere is a node too: of
// state missing, or of state no access where this user may not look, and the rest goes on. So the first node that is not as it
// should be is where to look next.
//
// Secrets are compared in memory. Their nodes have the names of keys and never a value.
package trace
