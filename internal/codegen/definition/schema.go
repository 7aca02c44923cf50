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
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/meta"
)

type schema = apiextensionsv1.JSONSchemaProps

// edit changes the schema at the end of steps, if it exists.
func edit(s *schema, at []string, change func(*schema)) {
	if len(at) == 0 {
		change(s)
		return
	}
	if at[0] == items {
		if s.Items != nil && s.Items.Schema != nil {
			edit(s.Items.Schema, at[1:], change)
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			edit(s.AdditionalProperties.Schema, at[1:], change)
		}
		return
	}
	if property, ok := s.Properties[at[0]]; ok {
		edit(&property, at[1:], change)
		s.Properties[at[0]] = property
	}
}

// spell begins descriptions with the name of the field that users write: a Go comment begins with the name in Go.
func spell(s *schema, names map[string][]string) {
	for name := range s.Properties {
		edit(s, []string{name}, func(s *schema) {
			if first, rest, _ := strings.Cut(s.Description, " "); slices.Contains(names[first], name) {
				s.Description = name + " " + rest
			}
			spell(s, names)
		})
	}
	edit(s, []string{items}, func(s *schema) { spell(s, names) })
}

func addRule(s *schema, rule, message, fieldPath string) {
	if slices.ContainsFunc(s.XValidations, func(v apiextensionsv1.ValidationRule) bool { return v.Rule == rule }) {
		return
	}
	s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: rule, Message: message, FieldPath: fieldPath})
}

// bound limits values that a rule compares, since API servers limit the cost of rules (N33).
func bound(s *schema) {
	const most, longest = 64, 1024
	switch s.Type {
	case "string":
		if s.MaxLength == nil && len(s.Enum) == 0 && s.Format == "" {
			s.MaxLength = new(int64(longest))
		}
	case "array":
		if s.MaxItems == nil {
			s.MaxItems = new(int64(most))
		}
		edit(s, []string{items}, bound)
	case "object":
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			if s.MaxProperties == nil {
				s.MaxProperties = new(int64(most))
			}
			bound(s.AdditionalProperties.Schema)
		}
		for name := range s.Properties {
			edit(s, []string{name}, bound)
		}
	}
}

func containsObjects(s *schema) bool {
	return len(s.Properties) > 0 || s.Items != nil && s.Items.Schema != nil && containsObjects(s.Items.Schema)
}

// plain is the CEL expression of a field, and optional the one that is empty if anything on the way is missing.
func plain(object string, names []string) string {
	return strings.Join(append([]string{object}, celNames(names)...), ".")
}

func optional(object string, names []string) string {
	return strings.Join(append([]string{object}, celNames(names)...), ".?")
}

func has(object string, names ...string) string {
	if len(names) == 1 {
		return "has(" + plain(object, names) + ")"
	}
	return hasOptional(object, names...)
}

func hasOptional(object string, names ...string) string {
	return optional(object, names) + ".hasValue()"
}

// celNames returns properties as CEL spells them. A name may end with the index [0].
func celNames(names []string) []string {
	reserved := []string{"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
		"import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}
	escape := strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__")
	all := make([]string, len(names))
	for i, name := range names {
		name, index := strings.TrimSuffix(name, firstItem), name[len(strings.TrimSuffix(name, firstItem)):]
		if all[i] = escape.Replace(name) + index; slices.Contains(reserved, name) {
			all[i] = "__" + name + "__" + index
		}
	}
	return all
}

const (
	items     = "[]"  // the step from a list or map to its items
	firstItem = "[0]" // the index of the only item of a list
)

// steps returns the properties on the way from the settings to a field, with items after each list and map.
func steps(place model.Place) []string {
	var all []string
	for i, f := range place {
		if f.JSON != "" {
			all = append(all, f.JSON)
		}
		if f.Type.Collection() && i < len(place)-1 {
			all = append(all, items)
		}
	}
	return all
}

// firstSteps returns the properties on the way from the settings to a field, with firstItem after each list.
func firstSteps(place model.Place) []string {
	var all []string
	for i, f := range place {
		switch {
		case f.JSON == "":
		case f.Type.List && i < len(place)-1:
			all = append(all, f.JSON+firstItem)
		default:
			all = append(all, f.JSON)
		}
	}
	return all
}

func holder(k *model.Kind, place model.Place) (at, below []string) {
	all := append([]string{root(k), "forProvider"}, steps(place)...)
	last := 1
	for i, step := range all[:len(all)-1] {
		if step == items {
			last = i
		}
	}
	return all[:last+1], all[last+1:]
}

func root(k *model.Kind) string {
	if k.Role == model.Class {
		return "specTemplate"
	}
	return "spec"
}

func path(names []string) string { return strings.Join(names, ".") }

// configLabel is the label of a definition with the group of the provider configurations of its objects (N29).
const configLabel = "bowline.dev/provider-config"

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
	if of := k.ManagedKind(); of != nil && len(d.Spec.Names.ShortNames) == 0 {
		for name := range strings.SplitSeq(of.ResourceSetting("shortName"), ";") {
			if name != "" {
				d.Spec.Names.ShortNames = append(d.Spec.Names.ShortNames, name+"class")
			}
		}
	}
	if k.Role == model.Managed && known {
		d.Labels = withDefault(d.Labels, configLabel, config)
	}
	if k.Role == model.Managed && k.Struct.Comment.Has(model.DataMarker) {
		d.Labels = withDefault(d.Labels, meta.LabelKeyHoldsData, "true")
	}
	if kinds := k.ClaimKinds(); k.Role == model.Class && len(kinds) > 0 {
		d.Labels = withDefault(d.Labels, meta.LabelKeyClaimKind, strings.ToLower(kinds[0]))
		d.Annotations = withDefault(d.Annotations, meta.AnnotationKeyClaimKinds, strings.ToLower(strings.Join(kinds, ",")))
	}
	if k.Conditioned() {
		version.Subresources = cmp.Or(version.Subresources, &apiextensionsv1.CustomResourceSubresources{})
		version.Subresources.Status = cmp.Or(version.Subresources.Status, &apiextensionsv1.CustomResourceSubresourceStatus{})
	}
	version.AdditionalPrinterColumns = columns(k, version.AdditionalPrinterColumns)
	if k.Role == model.Managed && k.Scope == model.Cluster {
		version.AdditionalPrinterColumns = append(version.AdditionalPrinterColumns, bondColumns()...)
	}
}

func withDefault(to map[string]string, key, value string) map[string]string {
	merged := map[string]string{key: value}
	maps.Copy(merged, to)
	return merged
}

func categories(k *model.Kind, config string, known bool) []string {
	all := map[model.Role][]string{
		model.Claim: {"claim", "claims"}, model.Class: {"class", "classes"}, model.Target: {"target", "targets"},
		model.Workload: {"workload", "workloads"},
	}[k.Role]
	if all != nil || !known {
		return all
	}
	all = []string{"crossplane", "managed", provider(k.Package, config)}
	if k.Role == model.ProviderConfig {
		all[1] = "provider"
	}
	// kubectl ignores -n for cluster-scoped kinds, so "delete managed --all -n infra" must not reach them (N39).
	for i := range all {
		if k.Scope == model.Cluster {
			all[i] = crd.ClusterCategory + all[i]
		}
	}
	return all
}

func provider(pkg *model.Package, config string) string {
	first, _, _ := strings.Cut(config, ".")
	return cmp.Or(pkg.Value("bowline:provider"), first)
}

type column = apiextensionsv1.CustomResourceColumnDefinition

// columns returns those of the author between the default ones, or alone if the author replaces a default one (T22).
func columns(k *model.Kind, own []column) []column {
	before, after := defaultColumns(k)
	for _, d := range slices.Concat(before, after) {
		if slices.ContainsFunc(own, func(c column) bool { return strings.EqualFold(c.Name, d.Name) }) {
			return own
		}
	}
	return slices.Concat(before, own, after)
}

func defaultColumns(k *model.Kind) (before, after []column) {
	ready := column{Name: "READY", Type: "string", JSONPath: ".status.conditions[?(@.type=='Ready')].status"}
	age := column{Name: "AGE", Type: "date", JSONPath: ".metadata.creationTimestamp"}
	switch k.Role {
	case model.ProviderConfig:
		return []column{ready}, []column{
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
		if k.Conditioned() {
			before = []column{ready, {Name: "REASON", Type: "string", JSONPath: ".status.conditions[?(@.type=='Ready')].reason"}}
		}
		return append(before, []column{
			{Name: "PROVIDER-CONFIG", Type: "string", JSONPath: ".specTemplate.providerConfigRef.name"},
			{Name: "RECLAIM-POLICY", Type: "string", JSONPath: ".specTemplate.reclaimPolicy"},
			{Name: "MAX", Type: "integer", JSONPath: ".specTemplate.claims.max"},
			{Name: "DEFAULT", Type: "string", JSONPath: `.metadata.annotations.resourceclass\.crossplane\.io/is-default-class`},
		}...), []column{age}
	case model.Workload:
		return []column{
			{Name: "STATE", Type: "string", JSONPath: ".status.state"}, {Name: "TARGET", Type: "string", JSONPath: ".spec.targetRef.name"}, ready,
		}, []column{age}
	case model.Platform:
		return []column{ready}, []column{age}
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

// bondColumns are for -o wide, of kinds that claims can be bound to: a Released object shows its former claim.
func bondColumns() []column {
	return []column{
		{Name: "PHASE", Type: "string", Priority: 1, JSONPath: ".status.bindingPhase"},
		{Name: "CLAIM-NAMESPACE", Type: "string", Priority: 1, JSONPath: ".spec.claimRef.namespace"},
		{Name: "CLAIM", Type: "string", Priority: 1, JSONPath: ".spec.claimRef.name"},
	}
}
