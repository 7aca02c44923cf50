// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the claims for databases. A claim asks for a database server, or a part of one;
// its class decides how it is provided.
//
// +kubebuilder:object:generate=true
// +groupName=database.crossplane.io
// +bowline:generate
package v1alpha1
