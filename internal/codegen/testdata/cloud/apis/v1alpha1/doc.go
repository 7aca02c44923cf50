// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the provider configurations of the test cloud.
//
// +kubebuilder:object:generate=true
// +groupName=cloud.example.org
// +bowline:system=the test cloud
package v1alpha1
