// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds targets, which copy the connection Secret of an existing managed resource to a namespace (K70), and the
// applications that run in their clusters (K80, K81).
//
// +kubebuilder:object:generate=true
// +groupName=workload.crossplane.io
// +bowline:generate
package v1alpha1
