// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// isName is true for what can be the name of a TerraformProvider and is no file.
func isName(word string) bool {
	info, err := os.Stat(word)
	return (err != nil || info.IsDir()) && source.CheckName(word) == nil
}

// startInstalled starts the provider of a TerraformProvider that an API server has, by the binary that the controllers run.
func startInstalled(ctx context.Context, o *controller.Options, c *inspect.Cluster, name string) (*source.Provider, error) {
	r := c.Get(ctx, v1alpha1.TerraformProviderGroupVersionKind.GroupKind(), types.NamespacedName{Name: name})
	if r.Presence != inspect.Present {
		return nil, fmt.Errorf("reading TerraformProvider %s: %s: see bowline kubectl get terraformproviders, or give the path of a provider binary",
			name, strings.TrimSpace(string(r.Presence)+" "+r.Problem))
	}
	of, err := terraformProvider(r.Object)
	if err != nil {
		return nil, err
	}
	path, err := o.Installed(of)
	if err != nil {
		return nil, errors.Join(err, served(of))
	}
	return source.Start(ctx, name, path)
}

func terraformProvider(o *unstructured.Unstructured) (*v1alpha1.TerraformProvider, error) {
	of := &v1alpha1.TerraformProvider{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, of); err != nil {
		return nil, fmt.Errorf("reading TerraformProvider %s: %w", o.GetName(), err)
	}
	return of, nil
}

// served says how to read the schemas of kinds that the API server has.
func served(of *v1alpha1.TerraformProvider) error {
	if len(of.Status.Kinds) == 0 {
		return nil
	}
	s, kind := source.Provider{Name: of.Name}, of.Status.Kinds[0]
	apiVersion, _ := s.Kind(kind.Type, false)
	plural, _, _ := strings.Cut(s.Resource(kind.Type, false), ".")
	return fmt.Errorf("%d of its types are served; their fields: bowline kubectl explain --api-version %s %s.spec.forProvider",
		len(of.Status.Kinds), apiVersion, plural)
}
