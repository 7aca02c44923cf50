// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// configLabel of a definition names the group of the provider configurations that its objects use (N29).
const configLabel = "bowline.dev/provider-config"

// describe sets what is about the definition as a whole, where the author did not.
func describe(d *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion, k *model.Kind) {
	if !scopeIsExplicit(k) {
		d.Spec.Scope = apiextensionsv1.ResourceScope(k.Scope)
	}
	config, known := k.Package.Config(k.Scope)
	if k.Role == model.ProviderConfig {
		config, known = k.Package.Group(), true
	}
	if len(d.Spec.Names.Categories) == 0 && known {
		d.Spec.Names.Categories = []string{"crossplane", category(k.Role), provider(k.Package, config)}
	}
	if k.Role == model.Managed && known {
		if d.Labels == nil {
			d.Labels = map[string]string{}
		}
		if _, explicit := d.Labels[configLabel]; !explicit {
			d.Labels[configLabel] = config
		}
	}
	if version.Subresources == nil {
		version.Subresources = &apiextensionsv1.CustomResourceSubresources{}
	}
	if version.Subresources.Status == nil {
		version.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
	}
	version.AdditionalPrinterColumns = columns(k.Role, version.AdditionalPrinterColumns)
}

// scopeIsExplicit is true if kubebuilder's marker says the scope, and no marker of ours does.
func scopeIsExplicit(k *model.Kind) bool {
	if k.Source != nil || len(model.Scopes(k.Struct)) > 0 {
		return false
	}
	return slices.ContainsFunc(k.Struct.Comment.Markers, func(m model.Marker) bool {
		return strings.HasPrefix(m.Name, "kubebuilder:resource:") && strings.Contains(m.String(), "scope=")
	})
}

func category(role model.Role) string {
	if role == model.ProviderConfig {
		return "provider"
	}
	return "managed"
}

// provider returns the category of a provider's own: what a marker of the package says, else the first label of the
// group of its configurations.
func provider(pkg *model.Package, config string) string {
	for _, p := range []*model.Package{pkg, pkg.Source} {
		if p != nil && p.Comment.Value("bowline:provider") != "" {
			return p.Comment.Value("bowline:provider")
		}
	}
	first, _, _ := strings.Cut(config, ".")
	return first
}

// columns returns the columns of kubectl get (T22) around those that the author added. An author who names one of the
// usual columns has chosen all of them.
func columns(role model.Role, own []apiextensionsv1.CustomResourceColumnDefinition) []apiextensionsv1.CustomResourceColumnDefinition {
	before, after := []apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "READY", Type: "string", JSONPath: ".status.conditions[?(@.type=='Ready')].status"},
		{Name: "SYNCED", Type: "string", JSONPath: ".status.conditions[?(@.type=='Synced')].status"},
		{Name: "EXTERNAL-NAME", Type: "string", JSONPath: `.metadata.annotations.crossplane\.io/external-name`},
	}, []apiextensionsv1.CustomResourceColumnDefinition{{Name: "AGE", Type: "date", JSONPath: ".metadata.creationTimestamp"}}
	if role == model.ProviderConfig {
		before, after = nil, append([]apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "USERS", Type: "integer", JSONPath: ".status.users"},
			{Name: "SECRET", Type: "string", Priority: 1, JSONPath: ".spec.credentials.secretRef.name"},
		}, after...)
	}
	for _, usual := range slices.Concat(before, after) {
		if slices.ContainsFunc(own, func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
			return strings.EqualFold(c.Name, usual.Name)
		}) {
			return own
		}
	}
	return slices.Concat(before, own, after)
}
