// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha3 holds the namespaced managed resources of the favourite cloud's compute service.
//
// +kubebuilder:object:generate=true
// +groupName=compute.fcp.m.crossplane.io
// +bowline:system=the favourite cloud
package v1alpha3
