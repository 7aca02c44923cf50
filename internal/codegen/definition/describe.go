// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"cmp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/codegen/model"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// configLabel is the label of a definition with the group of the provider configurations of its objects (N29).
const configLabel = "bowline.dev/provider-config"

// describe sets scope, categories, labels, subresources and columns where the author did not.
func describe(d *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion, k *model.Kind) {
	if !scopeIsExplicit(k) {
		d.Spec.Scope = apiextensionsv1.ResourceScope(k.Scope)
	}
	config, known := k.Package.Config(k.Scope)
	if k.Role == model.ProviderConfig {
		config, known = k.Package.Group(), true
	}
	if len(d.Spec.Names.Categories) == 0 {
		d.Spec.Names.Categories = categories(k, config, known)
	}
	if k.Role == model.Managed && known {
		d.Labels = withDefault(d.Labels, configLabel, config)
	}
	if kinds := k.ClaimKinds(); k.Role == model.Class && len(kinds) > 0 {
		d.Labels = withDefault(d.Labels, meta.LabelKeyClaimKind, strings.ToLower(kinds[0]))
		d.Annotations = withDefault(d.Annotations, meta.AnnotationKeyClaimKinds, strings.ToLower(strings.Join(kinds, ",")))
	}
	if k.Role != model.Class { // A class has no status (K24).
		if version.Subresources == nil {
			version.Subresources = &apiextensionsv1.CustomResourceSubresources{}
		}
		if version.Subresources.Status == nil {
			version.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
		}
	}
	version.AdditionalPrinterColumns = columns(k.Role, version.AdditionalPrinterColumns)
}

// withDefault adds a key to labels or annotations unless the author set it.
func withDefault(to map[string]string, key, value string) map[string]string {
	if _, explicit := to[key]; explicit {
		return to
	}
	if to == nil {
		to = map[string]string{}
	}
	to[key] = value
	return to
}

// scopeIsExplicit is true if a marker of kubebuilder sets the scope, and none of bowline does.
func scopeIsExplicit(k *model.Kind) bool {
	if k.Source != nil || len(model.Scopes(k.Struct)) > 0 {
		return false
	}
	return slices.ContainsFunc(k.Struct.Comment.Markers, func(m model.Marker) bool {
		return strings.HasPrefix(m.Name, "kubebuilder:resource:") && strings.Contains(m.String(), "scope=")
	})
}

// categories returns the categories of a kind for kubectl get; nil if its provider configurations are unknown.
func categories(k *model.Kind, config string, known bool) []string {
	all := map[model.Role][]string{
		model.Claim: {"claim", "claims"}, model.Class: {"class", "classes"}, model.Target: {"target", "targets"},
	}[k.Role]
	switch {
	case all != nil || !known:
		return all
	case k.Role == model.ProviderConfig:
		return []string{"crossplane", "provider", provider(k.Package, config)}
	}
	return []string{"crossplane", "managed", provider(k.Package, config)}
}

// provider returns the category of a provider: the value of the package's marker, else the first label of the group of its
// configurations.
func provider(pkg *model.Package, config string) string {
	first, _, _ := strings.Cut(config, ".")
	return cmp.Or(pkg.Value("bowline:provider"), first)
}
