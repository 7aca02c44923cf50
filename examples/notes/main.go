// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command notes is a provider with one kind, whose external system is a folder: see docs/guides/writing-a-provider.md.
package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/bowline-dev/bowline/examples/notes/apis"
	"github.com/bowline-dev/bowline/examples/notes/apis/crds"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/examples/notes/apis/namespaced/v1alpha1"
	"github.com/bowline-dev/bowline/examples/notes/apis/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func main() { provider.Main(newProvider()) }

func newProvider() provider.Provider {
	disk := kind.System[*os.Root]{
		Clients: &clients.Factory[v1alpha1.ProviderConfigSpec, *os.Root]{
			New: func(_ context.Context, c clients.Connection[v1alpha1.ProviderConfigSpec]) (*os.Root, error) {
				return os.OpenRoot(c.Settings.Folder)
			},
			Close: func(folder *os.Root) { _ = folder.Close() },
		},
		IsNotFound: func(err error) bool { return errors.Is(err, fs.ErrNotExist) },
		Refused:    func(error) bool { return true }, // calls of a disk have no lost answers
	}
	return provider.Provider{
		Name:        "notes",
		CRDs:        crds.FS,
		AddToScheme: apis.AddToScheme,
		Configs: []resource.ProviderConfig{
			&v1alpha1.ProviderConfig{}, &namespacedv1alpha1.ProviderConfig{}, &namespacedv1alpha1.ClusterProviderConfig{},
		},
		Kinds: kind.Serve(disk, notes(), &v1alpha1.Note{}, &namespacedv1alpha1.Note{}),
	}
}
