// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reconciler is the parent of the controllers. It contains no code.
//
// Each package exports Reconciler and NewReconciler, and options where there are any. A pass of each Reconciler is a list of steps, run
// by package internal/flow; where the list depends on the object, lifecycle chooses it. Read the packages in this order:
//
//   - managed: external resources of managed resources. Its loop is the model for the others.
//   - claimscheduling and claimdefaulting: the class of a claim, by internal/scheduling.
//   - claimbinding: the managed resource of a claim, from the class to the binding and the release.
//   - claim: conditions of claims that have no class.
//   - secret: copies of connection Secrets, by connection/copies.
//   - target: access of further namespaces to a managed resource.
//   - application and applicationresource: objects in the clusters of targets.
//   - providerconfig: the use of ProviderConfigs.
//   - class: whether claims can get anything from a class.
//
// The tests of all controllers from claim to target, and of class, are here, on one stage: claims_*, classes_*,
// copies_*, secrets_*, targets_* and workloads_*.
package reconciler
