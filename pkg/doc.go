// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pkg is the parent of the packages that provider authors import. It contains no code.
//
// Read them in this order:
//
//   - resource and meta: the interfaces of managed resources, claims, classes and targets, and their annotations.
//   - failure and event: typed errors, and events.
//   - kind: a managed kind from four functions; kind/parameters compares and late-initializes settings.
//   - provider: a provider from kinds; clients creates the clients of external systems and limits their calls.
//   - reference: fields that refer to other objects.
//   - reconciler: the controllers; connection: connection Secrets and their copies.
//   - core: the claim kinds with their controllers; crd installs CRDs; telemetry exports metrics; manifests makes what a cluster needs.
//   - markers: the markers in API types, which bowline generate reads.
//
// docs/architecture.md follows one managed resource and one claim through them.
package pkg
