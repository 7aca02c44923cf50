// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 is the kind that the measurements use: a managed resource as a provider would have it, in a group of its own.
//
// After a change of the types, or of those they embed, run go generate in this folder.
//
// +kubebuilder:object:generate=true
// +groupName=bench.bowline.dev
package v1

//go:generate -command generate go tool -modfile=../../../../tools/go.mod controller-gen
//go:generate generate object:headerFile=../../../../tools/header.go.txt crd:crdVersions=v1 paths=. output:crd:dir=../crds
