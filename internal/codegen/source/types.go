// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

type view struct{ *model.Kind }

func viewsOf(pkg *model.Package) []view {
	var all []view
	for _, k := range pkg.Kinds {
		all = append(all, view{k})
	}
	return all
}

func (v view) Managed() bool { return v.Role == model.Managed }
func (v view) Class() bool   { return v.Role == model.Class }
func (v view) Config() bool  { return v.Role == model.ProviderConfig }

// Undeclared is true for a type of the package that the author did not declare.
func (v view) Undeclared(r model.Ref) bool {
	return r.Import == v.Package.Path && !v.Package.Declared[r.Name]
}

// Common returns the struct that the spec of a managed kind embeds.
func (v view) Common() string {
	if v.Scope == model.Namespaced {
		return "NamespacedResourceSpec"
	}
	return "ResourceSpec"
}

// MadeNoun returns the noun of the managed kind of a class.
func (v view) MadeNoun() string { return (&model.Kind{Name: v.MadeName()}).Noun() }

// Settings returns the fields of the parameters.
func (v view) Settings() []*model.Field {
	if parameters := v.Lookup(v.Parameters); parameters != nil {
		return parameters.Fields
	}
	return nil
}

// Prose returns the comment of the source. Of a provider configuration only the first sentence applies to both scopes.
func (v view) Prose() string {
	if v.Role != model.ProviderConfig {
		return "// " + strings.ReplaceAll(strings.Join(v.Struct.Comment.Prose, "\n// "), "// \n", "//\n")
	}
	first, _, _ := strings.Cut(v.Struct.Comment.Text(), ". ")
	first = strings.TrimSuffix(strings.Replace(first, v.Source.Name, v.Name, 1), ".")
	if v.Name == v.Source.Name {
		return wrap(first + ". It is for objects of its own namespace that refer to it, and its Secret is in the same namespace.")
	}
	return wrap(first + ". It is for objects of all namespaces; the one named \"default\" is for objects without a reference to a configuration.")
}

// Markers returns the markers of the author that also apply to the other scope.
func (v view) Markers() []string {
	var kept []string
	for _, m := range v.Struct.Comment.Markers {
		text := withoutScope(m.String())
		if strings.HasPrefix(m.Name, "kubebuilder:") && m.Name != "kubebuilder:object:root" && text != "+kubebuilder:resource:" {
			kept = append(kept, "// "+text)
		}
	}
	return kept
}

// withoutScope returns +kubebuilder:resource:shortName=db for +kubebuilder:resource:scope=Cluster,shortName=db.
func withoutScope(marker string) string {
	arguments, ok := strings.CutPrefix(marker, "+kubebuilder:resource:")
	if !ok {
		return marker
	}
	kept := slices.DeleteFunc(strings.Split(arguments, ","), func(a string) bool { return strings.HasPrefix(a, "scope=") })
	return "+kubebuilder:resource:" + strings.Join(kept, ",")
}

// initField makes a field of the parameters optional, without default and markers that do not apply at creation.
func (f *file) initField(of *model.Field) string {
	var text strings.Builder
	for _, line := range of.Comment.Prose {
		text.WriteString(strings.TrimRight("// "+line, " ") + "\n")
	}
	if !of.Embedded && !of.Optional() {
		text.WriteString("// +optional\n")
	}
	for _, m := range of.Comment.Markers {
		if keptInInit(m.Name) {
			text.WriteString("// " + m.String() + "\n")
		}
	}
	qualifier := regexp.MustCompile(`\w+\.`)
	typ := qualifier.ReplaceAllStringFunc(of.Type.Text, func(name string) string { // Imports may have other names in this file.
		name = strings.TrimSuffix(name, ".")
		return f.use(of.Type.Imports[name], name)
	})
	if of.Embedded {
		return text.String() + fmt.Sprintf("%s `json:\",inline\"`\n", typ)
	}
	if !of.Optional() && !of.Type.Pointer && !of.Type.Collection() {
		typ = "*" + typ
	}
	return text.String() + fmt.Sprintf("%s %s `json:\"%s,omitempty\"`\n", of.Name, typ, of.JSON)
}

func keptInInit(marker string) bool {
	dropped := []string{"immutable", "required", "default", "kubebuilder:default", "kubebuilder:validation:Required"}
	return !slices.Contains(dropped, marker) && !strings.HasPrefix(marker, "bowline:") && !strings.HasPrefix(marker, "crossplane:")
}

// An accessor is a pair of methods, SetName and GetName, over a field.
type accessor struct {
	Name, Field          string // suffix of the methods, and path of the field
	Before, Import, Type string // prefix *, [] or nothing, package and name of the type
	Satisfies            string // interface of package resource with the methods
}

const corePath = "k8s.io/api/core/v1"

// accessorsFor returns the accessors of a role. Conditions are not among them: their setter takes several.
func accessorsFor(role model.Role) []accessor {
	const common = model.CommonPath
	secret := func(typ, satisfies string) accessor {
		return accessor{"WriteConnectionSecretToReference", "Spec.WriteConnectionSecretToReference", "*", common, typ, satisfies}
	}
	object := func(name, satisfies string) accessor {
		return accessor{name, "Spec." + name, "*", corePath, "ObjectReference", satisfies}
	}
	phase := accessor{"BindingPhase", "Status.BindingPhase", "", common, "BindingPhase", "Bindable"}
	return map[model.Role][]accessor{
		model.Managed: {
			{"ManagementPolicies", "Spec.ManagementPolicies", "", common, "ManagementPolicies", "Manageable"},
			{"ProviderConfigReference", "Spec.ProviderConfigReference", "*", common, "ProviderConfigReference", "ProviderConfigReferencer"},
			secret("SecretReference", "ConnectionSecretWriterTo"),
			{"DeletionPolicy", "Spec.DeletionPolicy", "", common, "DeletionPolicy", "Orphanable"},
			{"RecreatePolicy", "Spec.RecreatePolicy", "", common, "RecreatePolicy", "Recreatable"},
			{"CredentialsPolicy", "Spec.Credentials", "", common, "CredentialsPolicy", "CredentialRotating"},
			{"Drift", "Status.Drift", "[]", common, "FieldDifference", "Drifting"},
			{"SecretInputs", "Status.SecretInputs", "[]", common, "SecretInput", "SecretInputRecorder"},
			phase,
		},
		bindable: {
			{"ReclaimPolicy", "Spec.ReclaimPolicy", "", common, "ReclaimPolicy", "Reclaimer"},
			object("ClaimReference", "ClaimReferencer"), object("ClassReference", "ClassReferencer"),
		},
		model.ProviderConfig: {
			{"Users", "Status.Users", "", "", "int64", "UserCounter"},
			{"PausedDeletions", "Status.PausedDeletions", "[]", common, "PausedNamespace", "DeletionPauser"},
		},
		model.Claim: {
			{"ClassSelector", "Spec.ClassSelector", "*", model.MetaPath, "LabelSelector", "ClassSelector"},
			object("ClassReference", "ClassReferencer"), object("ResourceReference", "ManagedResourceReferencer"),
			secret("LocalSecretReference", "LocalConnectionSecretWriterTo"), phase,
		},
		model.Class: {
			{"ProviderConfigReference", "SpecTemplate.ProviderConfigReference", "*", common, "ProviderConfigReference",
				"ProviderConfigReferencer"},
			{"ReclaimPolicy", "SpecTemplate.ReclaimPolicy", "", common, "ReclaimPolicy", "Reclaimer"},
			{"RecreatePolicy", "SpecTemplate.RecreatePolicy", "", common, "RecreatePolicy", "Recreatable"},
			{"CredentialsPolicy", "SpecTemplate.Credentials", "", common, "CredentialsPolicy", "CredentialRotating"},
			{"WriteConnectionSecretsToNamespace", "SpecTemplate.WriteConnectionSecretsToNamespace", "", "", "string",
				"ConnectionSecretsNamespacer"},
			{"ClaimLimits", "SpecTemplate.Claims", "", common, "ClaimLimits", "ClaimLimiter"},
		},
		model.Target: {
			object("ResourceReference", "ManagedResourceReferencer"), secret("LocalSecretReference", "LocalConnectionSecretWriterTo"),
		},
	}[role]
}

// bindable has the accessors that cluster-scoped managed kinds have in addition, since they can be bound to claims.
const bindable model.Role = "bindable"

// Missing is true for a method that the author did not write.
func (v view) Missing(method string) bool { return !v.Package.Methods[v.Name+"."+method] }

// MissingOfList is true for a method of the list that the author did not write.
func (v view) MissingOfList(method string) bool { return !v.Package.Methods[v.Name+"List."+method] }

// Item returns the interface of package resource for items of lists of the kind, if there is one.
func (v view) Item() string {
	return map[model.Role]string{
		model.Managed: "Managed", model.Claim: "Claim", model.Class: "Class", model.Target: "Target",
	}[v.Role]
}

// Pairs returns the accessors that the role requires.
func (v view) Pairs() []accessor {
	pairs := accessorsFor(v.Role)
	if v.Role == model.Managed && v.embedsCluster() {
		pairs = append(pairs, accessorsFor(bindable)...)
	}
	return pairs
}

func (v view) embedsCluster() bool {
	if spec := v.Lookup(v.Spec); spec != nil {
		return spec.Embeds(model.CommonPath, "ResourceSpec")
	}
	return v.Scope == model.Cluster
}

type rules struct {
	Type, Noun          string              // of the parameters type, and of the kind
	Lists               map[string][]string // fields of parameters.Rules that are lists of paths
	Defaults, Generated map[string]string
	Labels              string
	HoldsData           bool
}

func rulesOf(pkg *model.Package) []rules {
	var all []rules
	seen := map[string]bool{}
	for _, k := range pkg.Kinds {
		parameters := k.Lookup(k.Parameters)
		if k.Role != model.Managed || k.Parameters.Import != pkg.Path || parameters == nil || seen[k.Parameters.Name] {
			continue
		}
		seen[k.Parameters.Name] = true
		if !pkg.Methods[k.Parameters.Name+".FieldRules"] {
			all = append(all, readRules(k, parameters))
		}
	}
	return all
}

func readRules(k *model.Kind, parameters *model.Struct) rules {
	r := rules{
		Type: k.Parameters.Name, Noun: k.Noun(), Lists: map[string][]string{}, Defaults: map[string]string{}, Generated: map[string]string{},
		HoldsData: k.Struct.Comment.Has(model.DataMarker),
	}
	comparisons := map[string]string{
		"set": "Sets", "ignoreCase": "IgnoreCase", "json": "JSON", "ignore": "Ignored", "writeOnly": "WriteOnly", "extra": "Extra",
		"chosen": "Chosen",
	}
	for _, place := range parameters.Walk() {
		f, path := place.Field(), place.Path()
		add := func(name string, condition bool) {
			if condition && !slices.Contains(r.Lists[name], path) {
				r.Lists[name] = append(r.Lists[name], path)
			}
		}
		for _, m := range f.Comment.Markers {
			switch m.Name {
			case "immutable":
				add("Immutable", !isReference(f))
			case "bowline:sensitive":
				add("Sensitive", true)
			case "listType":
				add("Sets", m.Value == "set")
			case "bowline:compare":
				for word := range strings.SplitSeq(m.Value, ";") {
					add(comparisons[strings.TrimSpace(word)], true)
				}
			case "bowline:default":
				r.Defaults[path] = m.Value
			case "bowline:generated":
				r.Generated[path] = m.Value
			case "bowline:labels":
				r.Labels = path
			}
		}
	}
	return r
}

func isReference(f *model.Field) bool {
	return f.Type.Import == model.CommonPath && slices.Contains([]string{"Reference", "NamespacedReference"}, f.Type.Name)
}
