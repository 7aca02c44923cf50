// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"bufio"
	"context"
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

// A source is a Terraform provider and its resource types.
type source struct {
	name    string // in the API groups of its kinds
	types   map[string]*schema.Schema
	process *plugin.Provider // nil for a document
}

func closeAll(all []*source) {
	for _, s := range all {
		if s.process != nil {
			s.process.Close()
		}
	}
}

// openFile opens a provider binary, or a document with the schemas of some providers.
func openFile(ctx context.Context, file string) ([]*source, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading schemas: %w: give the path of a provider binary, or of the output of terraform providers schema -json", err)
	}
	defer f.Close()
	content := bufio.NewReader(f)
	if !isJSON(content) {
		s, err := openBinary(ctx, providerName(file), file)
		return []*source{s}, err
	}
	providers, err := schema.ReadDocument(content)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var all []*source
	for _, address := range slices.Sorted(maps.Keys(providers)) {
		all = append(all, &source{name: path.Base(address), types: providers[address].Types})
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

// openBinary starts a provider and reads its schemas.
func openBinary(ctx context.Context, name, file string) (*source, error) {
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
	return &source{name: name, types: schemas.Resources, process: &plugin.Provider{Process: process, Schemas: schemas}}, nil
}

// binaries is the flag --provider.
type binaries struct{ paths map[string]string }

func (b *binaries) AddFlags(flags *pflag.FlagSet) {
	flags.StringToStringVar(&b.paths, "provider", nil, "NAME=BINARY: the name of a TerraformProvider, and the path of its binary here; repeat it for others")
}

// open starts all providers.
func (b *binaries) open(ctx context.Context) ([]*source, error) {
	var all []*source
	for _, name := range slices.Sorted(maps.Keys(b.paths)) {
		s, err := openBinary(ctx, name, b.paths[name])
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// checkName returns an error for what cannot begin an API group.
func checkName(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%q cannot be the name of a provider: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

func scopeOf(namespaced bool) apiextensionsv1.ResourceScope {
	if namespaced {
		return apiextensionsv1.NamespaceScoped
	}
	return apiextensionsv1.ClusterScoped
}

// kindOf returns the kind of a resource type, and its API version.
func kindOf(provider, resourceType string, namespaced bool) (apiVersion, kind string) {
	return kinds.GroupVersionKind(provider, resourceType, scopeOf(namespaced)).ToAPIVersionAndKind()
}

// resourceOf returns a kind as kubectl takes it.
func resourceOf(provider, resourceType string, namespaced bool) string {
	return kinds.Names(provider, resourceType).Plural + "." + kinds.Group(provider, scopeOf(namespaced))
}
