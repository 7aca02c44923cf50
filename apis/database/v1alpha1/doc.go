// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the claims for databases. A claim is for a server, or a part of one, that is the team's own; where it
// comes from is for its class to say.
//
// +kubebuilder:object:generate=true
// +groupName=database.crossplane.io
// +bowline:generate
package v1alpha1
