// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds/template/crds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// AnnotationKeyResourceType has the resource type of a definition.
const AnnotationKeyResourceType = "terraform.bowline.dev/resource-type"

// configLabel has the group of the provider configurations of a definition's objects (N29).
const configLabel = "bowline.dev/provider-config"

const longestWarning = 256 // the API server refuses longer ones

// Kinds of the templates.
const (
	clusterTemplate = "Resource"
	localTemplate   = "LocalResource"
	configTemplate  = "ProviderConfig"
)

// Definitions returns the definitions of a resource type: that of the cluster scope, then the namespaced one.
func Definitions(provider, resourceType string, s *schema.Schema) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	templates, err := loadTemplates()
	if err != nil {
		return nil, err
	}
	both := []*apiextensionsv1.CustomResourceDefinition{templates[clusterTemplate], templates[localTemplate]}
	for _, d := range both {
		place(d, provider, "managed", d.Spec.Scope, Names(provider, resourceType))
		d.Labels[configLabel] = d.Spec.Group
		d.Annotations = map[string]string{AnnotationKeyResourceType: resourceType}
		complete(d, provider, resourceType, s.Block)
	}
	return both, nil
}

func complete(d *apiextensionsv1.CustomResourceDefinition, provider, resourceType string, b *schema.Block) {
	version := &d.Spec.Versions[0]
	root, s := version.Schema.OpenAPIV3Schema, shapeOfBlock(b)
	kind := fmt.Sprintf("%s is resource type %s of Terraform provider %s. ", d.Spec.Names.Kind, resourceType, provider)
	root.Description = shorten(kind + b.Description)
	if b.Deprecated {
		version.Deprecated = true
		warning := fmt.Sprintf("Terraform provider %s has deprecated resource type %s", provider, resourceType)
		version.DeprecationWarning = new(warning[:min(len(warning), longestWarning)])
	}
	secret := selectorOf(d)
	edit(root, func(spec *openAPI) {
		edit(spec, writer{forProvider, secret}.fill(s), "forProvider")
		edit(spec, writer{initProvider, secret}.fill(s), "initProvider")
		for _, f := range s.fields() {
			if f.required && celName(f.name) != "" && (f.secret || f.hasType()) { // rules cannot name others
				spec.XValidations = append(spec.XValidations, requiredRule(f))
			}
		}
	}, "spec")
	edit(root, writer{part: atProvider}.fill(s), "status", "atProvider")
}

// ConfigDefinitions returns the definitions of a provider's configuration: ProviderConfig for cluster-scoped kinds, and ProviderConfig and
// ClusterProviderConfig for namespaced ones.
func ConfigDefinitions(provider string, s *schema.Schema) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	templates, err := loadTemplates()
	if err != nil {
		return nil, err
	}
	selectors := map[apiextensionsv1.ResourceScope]openAPI{
		apiextensionsv1.ClusterScoped: selectorOf(templates[clusterTemplate]), apiextensionsv1.NamespaceScoped: selectorOf(templates[localTemplate])}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, of := range []struct {
		kind         string
		users, scope apiextensionsv1.ResourceScope
	}{
		{xpv1.ProviderConfigKind, apiextensionsv1.ClusterScoped, apiextensionsv1.ClusterScoped},
		{xpv1.ProviderConfigKind, apiextensionsv1.NamespaceScoped, apiextensionsv1.NamespaceScoped},
		{xpv1.ClusterProviderConfigKind, apiextensionsv1.NamespaceScoped, apiextensionsv1.ClusterScoped},
	} {
		d := templates[configTemplate].DeepCopy()
		d.Spec.Scope = of.scope
		singular := strings.ToLower(of.kind)
		place(d, provider, "provider", of.users, apiextensionsv1.CustomResourceDefinitionNames{
			Kind: of.kind, ListKind: of.kind + "List", Singular: singular, Plural: singular + "s"})
		root := d.Spec.Versions[0].Schema.OpenAPIV3Schema
		root.Description = fmt.Sprintf("A %s configures Terraform provider %s. Managed resources refer to it by name; the default is the one "+
			`named "default".`, of.kind, provider)
		edit(root, func(spec *openAPI) { completeConfig(spec, s.Block, selectors[of.scope]) }, "spec")
		all = append(all, d)
	}
	return all, nil
}

func completeConfig(spec *openAPI, b *schema.Block, selector openAPI) {
	// Most providers have their credentials in the configuration.
	spec.Required = slices.DeleteFunc(spec.Required, func(name string) bool { return name == "credentials" })
	edit(spec, func(c *openAPI) { c.Default = &apiextensionsv1.JSON{Raw: []byte(`{"source":"None"}`)} }, "credentials")
	for list, field := range map[string]string{"environment": "valueSecretRef", "files": "contentSecretRef"} {
		edit(spec.Properties[list].Items.Schema, func(ref *openAPI) { ref.Properties, ref.Required = selector.Properties, selector.Required }, field)
	}
	edit(spec, writer{configuration, selector}.fill(shapeOfBlock(b)), "configuration")
	if len(spec.Properties["configuration"].Required) > 0 {
		spec.Required = append(spec.Required, "configuration")
	}
}

// selectorOf returns the schema of references to Secrets that a template has.
func selectorOf(template *apiextensionsv1.CustomResourceDefinition) openAPI {
	selector := template.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["forProvider"].Properties["valueSecretRef"]
	selector.Description = ""
	return selector
}

// loadTemplates returns the definitions of package template by their kinds.
func loadTemplates() (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := crd.Load(crds.FS)
	if err != nil {
		return nil, fmt.Errorf("reading the template of definitions: %w", err)
	}
	templates := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, d := range all {
		templates[d.Spec.Names.Kind] = d
	}
	return templates, nil
}

// place gives a definition its group, names and categories. No category has kinds of both scopes (N39).
func place(d *apiextensionsv1.CustomResourceDefinition, provider, role string, users apiextensionsv1.ResourceScope,
	names apiextensionsv1.CustomResourceDefinitionNames) {
	for _, category := range []string{"terraform", role, provider} {
		if d.Spec.Scope == apiextensionsv1.ClusterScoped {
			category = crd.ClusterCategory + category
		}
		if len(validation.IsDNS1035Label(category)) == 0 {
			names.Categories = append(names.Categories, category)
		}
	}
	d.Spec.Group, d.Spec.Names = Group(provider, users), names
	d.Name = names.Plural + "." + d.Spec.Group
	d.Spec.Versions[0].Name = Version
}

// fill sets what a schema decides, and keeps the description of the template.
func (w writer) fill(s shape) func(*openAPI) {
	return func(o *openAPI) {
		filled := w.object(s, false)
		filled.Description = o.Description
		*o = filled
	}
}

// edit changes the property at the end of names.
func edit(o *openAPI, change func(*openAPI), names ...string) {
	if len(names) == 0 {
		change(o)
		return
	}
	property := o.Properties[names[0]]
	edit(&property, change, names[1:]...)
	o.Properties[names[0]] = property
}

// requiredRule returns the rule of a spec that requires a field.
func requiredRule(f field) apiextensionsv1.ValidationRule {
	rule := fmt.Sprintf("!self.managementPolicies.exists(p, p in ['*', 'Create', 'Update']) || has(self.forProvider.%[1]s) || "+
		"self.?initProvider.?%[1]s.hasValue()", celName(f.name))
	places := "there or in spec.initProvider"
	if !f.secret {
		places = "there, in spec.initProvider or by spec.references"
		refers := fmt.Sprintf("r.field == '%s'", f.name)
		if f.form != scalar {
			refers += fmt.Sprintf(" || r.field.startsWith('%[1]s.') || r.field.startsWith('%[1]s[')", f.name)
		}
		rule += " || has(self.references) && self.references.exists(r, " + refers + ")"
	}
	return apiextensionsv1.ValidationRule{Rule: rule, Message: "spec.forProvider." + f.name + " is required, " + places +
		", unless managementPolicies exclude Create and Update"}
}

var celIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// celName returns a field's name as the API server's CEL spells it, empty if it cannot.
func celName(name string) string {
	switch name {
	case "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
		"namespace", "return", "var", "void", "while":
		return "__" + name + "__"
	}
	name = strings.NewReplacer("__", "__underscores__", "-", "__dash__", ".", "__dot__", "/", "__slash__").Replace(name)
	if !celIdentifier.MatchString(name) {
		return ""
	}
	return name
}
