// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import "github.com/bowline-dev/bowline/internal/codegen/model"

// An accessor is a pair of methods, SetName and GetName, over a field.
type accessor struct {
	// Name and Field say what is got and set.
	Name, Field string
	// Before is what stands before the type: *, [] or nothing; Import and Type name it.
	Before, Import, Type string
	// Satisfies is the interface of package resource that wants the methods.
	Satisfies string
}

const corePath = "k8s.io/api/core/v1"

// managedAccessors are those of every managed kind. Conditions are not among them: they take several.
func managedAccessors() []accessor {
	return []accessor{
		{"ManagementPolicies", "Spec.ManagementPolicies", "", model.CommonPath, "ManagementPolicies", "Manageable"},
		{"ProviderConfigReference", "Spec.ProviderConfigReference", "*", model.CommonPath, "ProviderConfigReference", "ProviderConfigReferencer"},
		{"WriteConnectionSecretToReference", "Spec.WriteConnectionSecretToReference", "*", model.CommonPath, "SecretReference",
			"ConnectionSecretWriterTo"},
		{"DeletionPolicy", "Spec.DeletionPolicy", "", model.CommonPath, "DeletionPolicy", "Orphanable"},
		{"Drift", "Status.Drift", "[]", model.CommonPath, "FieldDifference", "Drifting"},
		{"SecretInputs", "Status.SecretInputs", "[]", model.CommonPath, "SecretInput", "SecretInputRecorder"},
		{"BindingPhase", "Status.BindingPhase", "", model.CommonPath, "BindingPhase", "Bindable"},
	}
}

// clusterAccessors are those that cluster-scoped managed kinds have on top: they can be bound to claims.
func clusterAccessors() []accessor {
	return []accessor{
		{"ReclaimPolicy", "Spec.ReclaimPolicy", "", model.CommonPath, "ReclaimPolicy", "Reclaimer"},
		{"ClaimReference", "Spec.ClaimReference", "*", corePath, "ObjectReference", "ClaimReferencer"},
		{"ClassReference", "Spec.ClassReference", "*", corePath, "ObjectReference", "ClassReferencer"},
	}
}

func configAccessors() []accessor {
	return []accessor{{"Users", "Status.Users", "", "", "int64", "UserCounter"}}
}

func claimAccessors() []accessor {
	return []accessor{
		{"ClassSelector", "Spec.ClassSelector", "*", model.MetaPath, "LabelSelector", "ClassSelector"},
		{"ClassReference", "Spec.ClassReference", "*", corePath, "ObjectReference", "ClassReferencer"},
		{"ResourceReference", "Spec.ResourceReference", "*", corePath, "ObjectReference", "ManagedResourceReferencer"},
		{"WriteConnectionSecretToReference", "Spec.WriteConnectionSecretToReference", "*", model.CommonPath, "LocalSecretReference",
			"LocalConnectionSecretWriterTo"},
		{"BindingPhase", "Status.BindingPhase", "", model.CommonPath, "BindingPhase", "Bindable"},
	}
}

func classAccessors() []accessor {
	return []accessor{
		{"ProviderConfigReference", "SpecTemplate.ProviderConfigReference", "*", model.CommonPath, "ProviderConfigReference",
			"ProviderConfigReferencer"},
		{"ReclaimPolicy", "SpecTemplate.ReclaimPolicy", "", model.CommonPath, "ReclaimPolicy", "Reclaimer"},
		{"WriteConnectionSecretsToNamespace", "SpecTemplate.WriteConnectionSecretsToNamespace", "", "", "string",
			"ConnectionSecretsNamespacer"},
		{"ClaimLimits", "SpecTemplate.Claims", "", model.CommonPath, "ClaimLimits", "ClaimLimiter"},
	}
}

func targetAccessors() []accessor {
	return []accessor{
		{"ResourceReference", "Spec.ResourceReference", "*", corePath, "ObjectReference", "ManagedResourceReferencer"},
		{"WriteConnectionSecretToReference", "Spec.WriteConnectionSecretToReference", "*", model.CommonPath, "LocalSecretReference",
			"LocalConnectionSecretWriterTo"},
	}
}

// An accessors view is what the template of methods knows of a kind.
type accessors struct {
	*model.Kind
}

func accessorsOf(pkg *model.Package) []accessors {
	var all []accessors
	for _, k := range pkg.Kinds {
		all = append(all, accessors{k})
	}
	return all
}

// Missing is true for a method that the author did not write.
func (a accessors) Missing(method string) bool { return !a.Package.Methods[a.Name+"."+method] }

// MissingOfList is true for a method of the list that the author did not write.
func (a accessors) MissingOfList(method string) bool {
	return !a.Package.Methods[a.Name+"List."+method]
}

// Managed is true for managed resources.
func (a accessors) Managed() bool { return a.Role == model.Managed }

// Config is true for provider configurations.
func (a accessors) Config() bool { return a.Role == model.ProviderConfig }

// Class is true for classes, which have no status and so no conditions.
func (a accessors) Class() bool { return a.Role == model.Class }

// Item is the interface of package resource that lists of the kind return their items as, if there is one.
func (a accessors) Item() string {
	return map[model.Role]string{
		model.Managed: "Managed", model.Claim: "Claim", model.Class: "Class", model.Target: "Target",
	}[a.Role]
}

// Pairs are the accessors that the role demands.
func (a accessors) Pairs() []accessor {
	switch {
	case a.Role == model.ProviderConfig:
		return configAccessors()
	case a.Role == model.Claim:
		return claimAccessors()
	case a.Role == model.Class:
		return classAccessors()
	case a.Role == model.Target:
		return targetAccessors()
	case a.embedsCluster():
		return append(managedAccessors(), clusterAccessors()...)
	default:
		return managedAccessors()
	}
}

// embedsCluster is true if the spec has the fields of cluster-scoped kinds.
func (a accessors) embedsCluster() bool {
	if spec := a.Lookup(a.Spec); spec != nil {
		return spec.Embeds(model.CommonPath, "ResourceSpec")
	}
	return a.Scope == model.Cluster
}
