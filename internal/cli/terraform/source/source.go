// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source opens Terraform providers for commands, by their binaries or by a document with their schemas, and describes what users may
// set of a resource type.
package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// A Provider is a Terraform provider with its resource types.
type Provider struct {
	Name    string // in the API groups of its kinds
	Types   map[string]*schema.Schema
	Process *plugin.Provider // nil for a document
}

func CloseAll(all []*Provider) {
	for _, s := range all {
		if s.Process != nil {
			s.Process.Close()
		}
	}
}

// Open opens a provider binary, or a document with the schemas of some providers.
func Open(ctx context.Context, file string) ([]*Provider, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading schemas: %w: give the path of a provider binary, or of the output of terraform providers schema -json", err)
	}
	defer f.Close()
	content := bufio.NewReader(f)
	if !isJSON(content) {
		s, err := Start(ctx, providerName(file), file)
		return []*Provider{s}, err
	}
	providers, err := schema.ReadDocument(content)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var all []*Provider
	for _, address := range slices.Sorted(maps.Keys(providers)) {
		all = append(all, &Provider{Name: path.Base(address), Types: providers[address].Types})
	}
	return all, nil
}

// isJSON is true for what begins with an object.
func isJSON(content *bufio.Reader) bool {
	start, _ := content.Peek(64) // less if the file is shorter
	return strings.HasPrefix(strings.TrimSpace(string(start)), "{")
}

// providerName returns the name that Terraform gives to a binary: shoal for terraform-provider-shoal_v1.0.0.
func providerName(file string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".exe"), "_v")
	return strings.TrimPrefix(name, "terraform-provider-")
}

// Start starts a provider and reads its schemas.
func Start(ctx context.Context, name, file string) (*Provider, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	process, err := plugin.Start(ctx, plugin.Command{Path: file, Output: io.Discard})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	schemas, err := process.Schemas(ctx, func(string) bool { return true })
	if err != nil {
		process.Close()
		return nil, fmt.Errorf("reading the schemas of %s: %w", file, err)
	}
	return &Provider{Name: name, Types: schemas.Resources, Process: &plugin.Provider{Process: process, Schemas: schemas}}, nil
}

// A Flag is the flag --provider: binaries by the names of TerraformProviders. It implements pflag.Value.
type Flag struct {
	Paths     map[string]string // empty for what the control plane has
	installed bool              // the binary may be left out
}

// AddFlags registers the flag. With installed, the binary may be that which the controllers run.
func (f *Flag) AddFlags(flags *pflag.FlagSet, installed bool) {
	f.installed = installed
	usage := "`NAME=BINARY`: name of a TerraformProvider, and path of its binary here; may be repeated"
	if installed {
		usage = "`NAME[=BINARY]`: name of a TerraformProvider, and path of its binary here, by default that of the control plane; may be repeated"
	}
	flags.Var(f, "provider", usage)
}

func (*Flag) String() string { return "" }

func (*Flag) Type() string { return "provider" }

func (f *Flag) Set(text string) error {
	name, path, hasPath := strings.Cut(text, "=")
	if name == "" || path == "" && (hasPath || !f.installed) {
		if f.installed {
			return errors.New("it must be NAME or NAME=BINARY")
		}
		return errors.New("it must be NAME=BINARY")
	}
	if err := CheckName(name); err != nil {
		return err
	}
	if f.Paths == nil {
		f.Paths = map[string]string{}
	}
	f.Paths[name] = path
	return nil
}

// Open starts all providers. Those without a path are started by their names.
func (f *Flag) Open(ctx context.Context, start func(name string) (*Provider, error)) ([]*Provider, error) {
	var all []*Provider
	for _, name := range slices.Sorted(maps.Keys(f.Paths)) {
		open := start
		if path := f.Paths[name]; path != "" {
			open = func(name string) (*Provider, error) { return Start(ctx, name, path) }
		}
		s, err := open(name)
		if err != nil {
			CloseAll(all)
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// CheckName returns an error for what cannot begin an API group.
func CheckName(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%q cannot be the name of a provider: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// Scope returns that of kinds in namespaces, or in the cluster.
func Scope(namespaced bool) apiextensionsv1.ResourceScope {
	if namespaced {
		return apiextensionsv1.NamespaceScoped
	}
	return apiextensionsv1.ClusterScoped
}

// Kind returns the kind of a resource type, and its API version.
func (p *Provider) Kind(resourceType string, namespaced bool) (apiVersion, kind string) {
	return kinds.GroupVersionKind(p.Name, resourceType, Scope(namespaced)).ToAPIVersionAndKind()
}

// Resource returns the kind of a resource type as kubectl takes it.
func (p *Provider) Resource(resourceType string, namespaced bool) string {
	return kinds.Names(p.Name, resourceType).Plural + "." + kinds.Group(p.Name, Scope(namespaced))
}
