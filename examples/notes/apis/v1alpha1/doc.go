// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the example provider notes.
//
// +kubebuilder:object:generate=true
// +groupName=notes.example.org
// +bowline:system=the folder
package v1alpha1
