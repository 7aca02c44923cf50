// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the claims for compute.
//
// +kubebuilder:object:generate=true
// +groupName=compute.crossplane.io
// +bowline:generate
package v1alpha1
