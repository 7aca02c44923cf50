// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds TerraformProvider, which makes resource types of a Terraform provider managed kinds.
//
// +kubebuilder:object:generate=true
// +groupName=tf.bowline.dev
// +bowline:generate
package v1alpha1
