// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resource is the vocabulary of managed resources: the interfaces they satisfy, predicates that choose among
// them and small functions that every controller of theirs needs.
//
// A kind is a managed resource because its objects satisfy Managed, and offers more by role interfaces such as Orphanable
// or Drifting. Nobody registers anything: who needs a role asks the object for it.
//
//	policy, ok := mg.(resource.Orphanable)
//
// Package managed reconciles what satisfies Managed; providers implement it for their kinds, package unstructured for
// kinds that have no Go type.
//
// # Names of older documents
//
// What older documents call resource.ExternalConnecter and resource.ExternalClient are ExternalConnecter and
// ExternalClient of package managed (A45).
package resource
