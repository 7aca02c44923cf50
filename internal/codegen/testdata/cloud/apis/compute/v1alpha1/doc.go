// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the test cloud's machine service.
//
// +kubebuilder:object:generate=true
// +groupName=compute.cloud.example.org
// +bowline:system=the test cloud
package v1alpha1
