// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resource defines the interfaces of managed resources, claims, classes and targets, predicates over them, and functions
// that their controllers share.
//
// A kind is a managed resource if its objects implement Managed. Further capabilities are role interfaces such as Orphanable or
// Drifting, found by type assertion.
//
//	policy, ok := mg.(resource.Orphanable)
//
// Package managed reconciles objects that implement Managed; package unstructured implements it for kinds without a Go type.
//
// # Names of older documents
//
// resource.ExternalConnecter and resource.ExternalClient of older documents are in package managed (A45).
package resource
