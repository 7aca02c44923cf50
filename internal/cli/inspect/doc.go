// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect reads objects of any kind for commands that explain them.
//
//	cluster, err := inspect.Connect(cfg)
//	o, err := cluster.Find(ctx, inspect.Query{Words: []string{"fancysqlinstance/orders"}, Namespace: "shop"})
//
// # The one idea
//
// Everything is read as one user. Kinds come from discovery, so that objects of any provider are found. An object that does not
// exist, or that this user may not read, is a result like any other (see Reading). Only the object that a person named must exist:
// otherwise the error of Find says what to type instead.
//
// Packages trace and why are built on it. The tests of this package also compare their output with the files in their testdata.
package inspect
