// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha3 holds the provider configurations that the favourite cloud's namespaced kinds use.
//
// +kubebuilder:object:generate=true
// +groupName=fcp.m.crossplane.io
package v1alpha3
