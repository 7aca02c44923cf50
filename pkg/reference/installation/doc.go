// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation tells when kinds get installed that an API server does not serve yet.
//
// The one idea: definitions are watched only while somebody awaits a kind, and only their metadata is. A change of a
// definition in the group of an awaited kind is the sign to look whether the server serves that kind now; nobody polls.
//
//	watcher := installation.NewWatcher(mgr, func(kind schema.GroupVersionKind) { /* try again what needs the kind */ })
//	watcher.Await(kind)
//
// The controllers need the verbs list and watch on customresourcedefinitions for it. Without them nothing is told, so
// whoever awaits a kind should try again by itself, too, if seldom.
package installation
