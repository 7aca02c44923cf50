// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition generates deepcopy functions and custom resource definitions.
//
// It uses sigs.k8s.io/controller-tools as a library, so authors need no other program and can use every marker of kubebuilder.
// Afterwards it adds to the definitions what markers of bowline and conventions require: scope, columns, labels, and rules for
// immutable and required settings (N7, N29, N33). Settings of the author take precedence.
//
// The library reads Go from disk. Generated files are passed to it as an overlay and need not be written first.
package definition
