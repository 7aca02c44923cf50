// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"cmp"
	"maps"
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
	if k.Source != nil || len(model.Scopes(k.Struct)) > 0 || k.ExplicitScope() == "" {
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
		version.Subresources = cmp.Or(version.Subresources, &apiextensionsv1.CustomResourceSubresources{})
		version.Subresources.Status = cmp.Or(version.Subresources.Status, &apiextensionsv1.CustomResourceSubresourceStatus{})
	}
	version.AdditionalPrinterColumns = columns(k.Role, version.AdditionalPrinterColumns)
}

// withDefault adds a key to labels or annotations unless the author set it.
func withDefault(to map[string]string, key, value string) map[string]string {
	merged := map[string]string{key: value}
	maps.Copy(merged, to)
	return merged
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

type column = apiextensionsv1.CustomResourceColumnDefinition

// columns returns the columns of kubectl get (T22): the default ones around those of the author. If the author defines one of the
// default columns, there are only those of the author.
func columns(role model.Role, own []column) []column {
	before, after := defaultColumns(role)
	for _, d := range slices.Concat(before, after) {
		if slices.ContainsFunc(own, func(c column) bool { return strings.EqualFold(c.Name, d.Name) }) {
			return own
		}
	}
	return slices.Concat(before, own, after)
}

// defaultColumns returns the columns of a role that precede those of the author, and those that follow them.
func defaultColumns(role model.Role) (before, after []column) {
	ready := column{Name: "READY", Type: "string", JSONPath: ".status.conditions[?(@.type=='Ready')].status"}
	age := column{Name: "AGE", Type: "date", JSONPath: ".metadata.creationTimestamp"}
	switch role {
	case model.ProviderConfig:
		return nil, []column{
			{Name: "USERS", Type: "integer", JSONPath: ".status.users"},
			{Name: "SECRET", Type: "string", Priority: 1, JSONPath: ".spec.credentials.secretRef.name"}, age,
		}
	case model.Claim:
		return []column{
			{Name: "PHASE", Type: "string", JSONPath: ".status.bindingPhase"},
			{Name: "CLASS", Type: "string", JSONPath: ".spec.classRef.name"},
			{Name: "RESOURCE", Type: "string", JSONPath: ".spec.resourceRef.name"}, ready,
		}, []column{age}
	case model.Class:
		return []column{
			{Name: "PROVIDER-CONFIG", Type: "string", JSONPath: ".specTemplate.providerConfigRef.name"},
			{Name: "RECLAIM-POLICY", Type: "string", JSONPath: ".specTemplate.reclaimPolicy"},
			{Name: "MAX", Type: "integer", JSONPath: ".specTemplate.claims.max"},
			{Name: "DEFAULT", Type: "string", JSONPath: `.metadata.annotations.resourceclass\.crossplane\.io/is-default-class`},
		}, []column{age}
	case model.Target:
		return []column{
			{Name: "RESOURCE", Type: "string", JSONPath: ".spec.clusterRef.name"},
			{Name: "SECRET", Type: "string", JSONPath: ".spec.connectionSecretRef.name"}, ready,
		}, []column{age}
	}
	return []column{
		ready,
		{Name: "SYNCED", Type: "string", JSONPath: ".status.conditions[?(@.type=='Synced')].status"},
		{Name: "EXTERNAL-NAME", Type: "string", JSONPath: `.metadata.annotations.crossplane\.io/external-name`},
	}, []column{age}
}
