// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// Discover returns a provider for each TerraformProvider of an API server whose binary is in the folders of this machine. They plan, and change nothing.
// An error stands for each other one, and for types that a provider does not serve.
func (o *Options) Discover(ctx context.Context, live client.Reader, scheme *runtime.Scheme) (found []provider.Provider, failed []error) {
	all := &v1alpha1.TerraformProviderList{}
	if err := live.List(ctx, all); apimeta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, []error{fmt.Errorf("listing TerraformProviders: %w", err)}
	}
	for i := range all.Items {
		of := &all.Items[i]
		p, err := o.planner(ctx, of, live, scheme)
		if err != nil {
			failed = append(failed, err)
		}
		if p.Name != "" {
			found = append(found, p)
		}
	}
	return found, failed
}

// planner returns the provider of what a TerraformProvider serves. It is there beside an error about some of its types.
func (o *Options) planner(ctx context.Context, of *v1alpha1.TerraformProvider, live client.Reader, scheme *runtime.Scheme) (p provider.Provider, err error) {
	path, err := o.Installed(of)
	if err != nil {
		return p, err
	}
	var types []string
	for _, served := range of.Status.Kinds {
		types = append(types, served.Type)
	}
	schemas, _, err := read(ctx, path, types)
	if err != nil {
		return p, fmt.Errorf("TerraformProvider %s: %w", of.Name, err)
	}
	source := &processes.Source{Log: logr.Discard()}
	source.Use(&processes.Binary{Path: path, Schemas: schemas})
	b := external.NewBridge(of.Name, source, state.NewReader(live, o.Namespace), scheme)
	if p, err = b.Provider(schemas); err != nil {
		return provider.Provider{}, fmt.Errorf("TerraformProvider %s: %w", of.Name, err)
	}
	for _, name := range types {
		if schemas.Resources[name] == nil {
			err = errors.Join(err, fmt.Errorf("TerraformProvider %s: the provider has no resource type %s any more", of.Name, name))
			continue
		}
		o, wrong := wish{of: of, former: of.Status.Kinds}.offer(b, schemas.Resource(name))
		if o == nil {
			err = errors.Join(err, fmt.Errorf("TerraformProvider %s: resource type %s: %w", of.Name, name, wrong))
			continue
		}
		p.Kinds, p.Defined = append(p.Kinds, o.rows...), append(p.Defined, o.definitions...)
	}
	return p, err
}

// Installed returns the binary that the controllers run for a TerraformProvider, if it is on this machine, too, with the right checksum. Who
// writes the status of objects must not choose which program a command runs: one that is not in the folders is refused.
func (o *Options) Installed(of *v1alpha1.TerraformProvider) (string, error) {
	path, folders := of.Status.Binary, o.Folders
	if path == "" {
		return "", fmt.Errorf("TerraformProvider %s has no binary yet: see bowline why terraformprovider/%[1]s", of.Name)
	}
	if o.Mirror.Folder != "" {
		folders = append(slices.Clone(folders), o.Mirror.Folder)
	}
	for _, folder := range folders {
		if real, ok := inside(path, folder); ok {
			return real, check(real, of.Spec.Checksums, checksumsOf)
		}
	}
	if _, err := os.Stat(path); filepath.IsAbs(path) && errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the binary of TerraformProvider %s, %s, is not on this machine: install it there, or run this where the controllers run",
			of.Name, path)
	}
	return "", fmt.Errorf("the binary of TerraformProvider %s, %q, is no file in the folders of Terraform providers (%s), so it is not run here: "+
		"if you trust it, name its folder with --terraform-plugins", of.Name, path, strings.Join(folders, ", "))
}
