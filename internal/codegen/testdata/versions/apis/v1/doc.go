// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds kinds.
//
// +kubebuilder:object:generate=true
// +groupName=things.example.org
// +bowline:providerConfigGroup=things.example.org
package v1
