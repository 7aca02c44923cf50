// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the claims for storage.
//
// +kubebuilder:object:generate=true
// +groupName=storage.crossplane.io
// +bowline:generate
package v1alpha1
