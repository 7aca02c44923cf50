// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect reads objects of any kind for commands that explain them.
//
//	cluster, err := inspect.Connect(cfg)
//	o, err := cluster.Find(ctx, inspect.Query{Words: []string{"fancysqlinstance/orders"}, Namespace: "shop"})
//
// # The one idea
//
// All is read as one user, and nothing is known beforehand: kinds are what the API server says it has, so that those of any
// provider are found, and an object that this user may not read, or that is not there, is an answer like any other (see
// Reading). Only what was asked for itself must be there; Find then says what to type instead.
//
// Package trace and package why are made of it.
package inspect
