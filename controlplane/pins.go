// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build never

package controlplane

// k8s.io/kubernetes requires its staging modules at v0.0.0. Naming each of them in go.mod gives them a real version;
// these two have no other import here, so without this file `go mod tidy` would drop their pins.
import (
	_ "k8s.io/cri-streaming/pkg/streaming"
	_ "k8s.io/sample-apiserver/pkg/apis/wardle"
)
