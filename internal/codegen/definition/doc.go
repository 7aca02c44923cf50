// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition writes deepcopy functions and custom resource definitions.
//
// The one idea: sigs.k8s.io/controller-tools is used as a library, so authors need no other program and may use every
// marker of kubebuilder; what they leave out, and what markers of ours say, is put into the definitions afterwards: scope,
// columns, labels, and rules on immutable and required settings (N7, N29, N33). What an author said stays.
//
// The library reads Go from disk. Files that are yet to be written are laid over the disk, so nothing has to be written
// to find out what would be.
package definition
