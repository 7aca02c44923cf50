// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha3 holds the ProviderConfig of the favourite cloud.
//
// +kubebuilder:object:generate=true
// +groupName=fcp.crossplane.io
// +bowline:system=the favourite cloud
package v1alpha3
