// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds what teams ask the test cloud for.
//
// +kubebuilder:object:generate=true
// +groupName=claims.cloud.example.org
// +bowline:generate
package v1alpha1
