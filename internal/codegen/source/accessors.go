// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import "github.com/bowline-dev/bowline/internal/codegen/model"

// An accessor is a pair of methods, SetName and GetName, over a field.
type accessor struct {
	// Name is the suffix of the methods, Field the path of the field.
	Name, Field string
	// Before is the prefix of the type: *, [] or nothing. Import and Type are its package and name.
	Before, Import, Type string
	// Satisfies is the interface of package resource with the methods.
	Satisfies string
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
			{"Drift", "Status.Drift", "[]", common, "FieldDifference", "Drifting"},
			{"SecretInputs", "Status.SecretInputs", "[]", common, "SecretInput", "SecretInputRecorder"},
			phase,
		},
		bindable: {
			{"ReclaimPolicy", "Spec.ReclaimPolicy", "", common, "ReclaimPolicy", "Reclaimer"},
			object("ClaimReference", "ClaimReferencer"), object("ClassReference", "ClassReferencer"),
		},
		model.ProviderConfig: {{"Users", "Status.Users", "", "", "int64", "UserCounter"}},
		model.Claim: {
			{"ClassSelector", "Spec.ClassSelector", "*", model.MetaPath, "LabelSelector", "ClassSelector"},
			object("ClassReference", "ClassReferencer"), object("ResourceReference", "ManagedResourceReferencer"),
			secret("LocalSecretReference", "LocalConnectionSecretWriterTo"), phase,
		},
		model.Class: {
			{"ProviderConfigReference", "SpecTemplate.ProviderConfigReference", "*", common, "ProviderConfigReference",
				"ProviderConfigReferencer"},
			{"ReclaimPolicy", "SpecTemplate.ReclaimPolicy", "", common, "ReclaimPolicy", "Reclaimer"},
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

// accessors is the data of the template of methods for a kind. A class has no status and so no conditions.
type accessors struct {
	*model.Kind
	Managed, Config, Class bool
}

func accessorsOf(pkg *model.Package) []accessors {
	var all []accessors
	for _, k := range pkg.Kinds {
		all = append(all, accessors{k, k.Role == model.Managed, k.Role == model.ProviderConfig, k.Role == model.Class})
	}
	return all
}

// Missing is true for a method that the author did not write.
func (a accessors) Missing(method string) bool { return !a.Package.Methods[a.Name+"."+method] }

// MissingOfList is true for a method of the list that the author did not write.
func (a accessors) MissingOfList(method string) bool {
	return !a.Package.Methods[a.Name+"List."+method]
}

// Item returns the interface of package resource for items of lists of the kind, if there is one.
func (a accessors) Item() string {
	return map[model.Role]string{
		model.Managed: "Managed", model.Claim: "Claim", model.Class: "Class", model.Target: "Target",
	}[a.Role]
}

// Pairs returns the accessors that the role requires.
func (a accessors) Pairs() []accessor {
	pairs := accessorsFor(a.Role)
	if a.Role == model.Managed && a.embedsCluster() {
		pairs = append(pairs, accessorsFor(bindable)...)
	}
	return pairs
}

// embedsCluster is true if the spec has the fields of cluster-scoped kinds.
func (a accessors) embedsCluster() bool {
	if spec := a.Lookup(a.Spec); spec != nil {
		return spec.Embeds(model.CommonPath, "ResourceSpec")
	}
	return a.Scope == model.Cluster
}
