// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"io/fs"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Provider returns the provider of Items in a cloud. Workers is how many objects it reconciles at once.
func Provider(cloud *Cloud, workers int) provider.Provider {
	return provider.Provider{
		Name:        "bench",
		CRDs:        Definitions(),
		AddToScheme: shop.AddToScheme,
		Kinds: []provider.Kind{{
			Object:      &shop.Item{},
			Options:     []managed.ReconcilerOption{managed.WithTypedExternalConnecter(cloud)},
			Concurrency: workers,
		}},
	}
}

// Definitions contains the definition of Item. Items need no provider configuration here, whose protection would be measured too.
func Definitions() fs.FS {
	files := fstest.MapFS{}
	for _, definition := range shop.CRDs() {
		if definition.Spec.Names.Kind != shop.ItemKind {
			continue
		}
		definition.Labels = nil
		data, err := yaml.Marshal(definition)
		if err != nil {
			panic(err) // a definition is plain data
		}
		files["items.yaml"] = &fstest.MapFile{Data: data}
	}
	return files
}
