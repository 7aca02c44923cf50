// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha3 holds the namespaced managed resources of the favourite cloud's network service.
//
// +kubebuilder:object:generate=true
// +groupName=network.fcp.m.crossplane.io
// +bowline:system=the favourite cloud
package v1alpha3
