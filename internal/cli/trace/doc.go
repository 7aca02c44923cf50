// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trace shows the objects behind a claim: class, managed resource, external resource and Secrets.
//
//	root, err := trace.Build(ctx, cluster, claim)
//	err = trace.WriteTree(os.Stdout, root)
//
// # The one idea
//
// A trace is a tree of nodes, each with a state and its last message. An object that does not exist or that this user may not read
// is a node too, of state missing or no access. The first node that is not as it should be is the place to look at.
//
// Secrets are compared in memory. Their nodes have the names of keys and never a value.
package trace
