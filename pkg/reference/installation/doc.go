// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation reports the installation of kinds that an API server does not serve yet.
//
// The one idea: the metadata of CRDs is watched only while a kind is awaited. A change of a CRD in the group of an awaited kind
// triggers a check whether the server serves the kind.
//
//	watcher := installation.NewWatcher(mgr, func(kind schema.GroupVersionKind) { /* try again what needs the kind */ })
//	watcher.Await(kind)
//
// The controllers need the verbs list and watch on customresourcedefinitions. Without them nothing is reported, so callers should
// also retry from time to time.
package installation
