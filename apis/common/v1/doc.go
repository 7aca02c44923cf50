// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 holds the API types that every kind shares: the common part of a managed resource's spec and status,
// conditions, references and the credentials of a ProviderConfig.
//
// A managed kind embeds ResourceSpec and ResourceStatus beside its own fields:
//
//	type BucketSpec struct {
//		v1.ResourceSpec `json:",inline"`
//		ForProvider     BucketParameters `json:"forProvider"`
//	}
//
//	type BucketStatus struct {
//		v1.ResourceStatus `json:",inline"`
//		AtProvider        BucketObservation `json:"atProvider,omitempty"`
//	}
//
// The names and values are a wire contract shared with the wider ecosystem (N18). The behaviour behind them lives in
// package managed.
//
// +kubebuilder:object:generate=true
package v1
