// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds what namespaces need to run workloads elsewhere: targets, which hand them the connection Secret of a
// managed resource that others made (K70).
//
// +kubebuilder:object:generate=true
// +groupName=workload.crossplane.io
// +bowline:generate
package v1alpha1
