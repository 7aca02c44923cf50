// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/test/bench/apis/crds"
	v1 "github.com/bowline-dev/bowline/test/bench/apis/v1"
)

// Provider returns the provider of Servers in a cloud. Workers is how many objects it reconciles at once.
func Provider(cloud *Cloud, workers int) provider.Provider {
	return provider.Provider{
		Name:        "bench",
		CRDs:        crds.FS,
		AddToScheme: v1.AddToScheme,
		Kinds: []provider.Kind{{
			Object:      &v1.Server{},
			Options:     []managed.ReconcilerOption{managed.WithTypedExternalConnecter(cloud)},
			Concurrency: workers,
		}},
	}
}
