// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

func packageMarkers(k *model.Kind) string {
	switch c := k.Package.Comment; {
	case c.Value("groupName") == "":
		return fmt.Sprintf("package %s has no group: add // +groupName=GROUP to its comment in doc.go", k.Package.Name)
	case c.Value("kubebuilder:object:generate") != "true":
		return fmt.Sprintf("package %s has no deepcopy functions: add // +kubebuilder:object:generate=true to its comment in doc.go",
			k.Package.Name)
	}
	return ""
}

func root(k *model.Kind) string {
	switch {
	case k.Struct.Comment.Value("kubebuilder:object:root") != "true":
		return fmt.Sprintf("%s is not marked as a root type: add // +kubebuilder:object:root=true to its comment", k.Name)
	case k.Struct.Comment.Text() == "":
		return fmt.Sprintf("%s has no comment: describe it", k.Name)
	case k.Role != model.Class && k.Struct.Field("Status") == nil:
		return fmt.Sprintf("%s has no status: add Status %sStatus `json:\"status,omitempty\"`", k.Name, k.Name)
	}
	return ""
}

func scope(k *model.Kind) string {
	value := k.Struct.Comment.Value("bowline:scopes")
	scopes := model.Scopes(k.Struct)
	if k.Struct.Comment.Has("bowline:scopes") && len(scopes) != len(strings.Split(value, ",")) {
		return fmt.Sprintf("+bowline:scopes=%s: write Cluster, Namespaced, or Cluster,Namespaced", value)
	}
	if len(scopes) == 2 && strings.HasPrefix(k.Package.Path, k.Package.API.Path+"/namespaced/") {
		first := strings.Replace(k.Package.Dir, "/namespaced/", "/", 1)
		return fmt.Sprintf("%s is in the folder of generated namespaced kinds: declare it in %s", k.Name, first)
	}
	if explicit := k.ExplicitScope(); explicit != "" && len(scopes) > 0 && explicit != scopes[0] {
		return fmt.Sprintf("+bowline:scopes sets %s, +kubebuilder:resource sets %s: remove the latter", scopes[0], explicit)
	}
	return ""
}

func managed(k *model.Kind) string {
	if k.Role != model.Managed {
		return ""
	}
	for _, part := range []struct {
		of      model.Ref
		content string
	}{{k.Parameters, "its settings"}, {k.Observation, "the fields that the external system reports"}} {
		if pkg := k.Package.API.Package(part.of.Import); part.of.Name == "" || pkg != nil && pkg.Struct(part.of.Name) == nil {
			return fmt.Sprintf("%s has no struct %s: declare it with %s", k.Name, part.of.Name, part.content)
		}
	}
	return ""
}

func link(k *model.Kind) string {
	parameters := k.Lookup(k.Parameters)
	if k.Role != model.Managed || parameters == nil || strings.Contains(parameters.Comment.Text(), "http") {
		return ""
	}
	return fmt.Sprintf("the comment of %s has no link to the page of the vendor's API: add its URL as the last line", parameters.Name)
}

func providerConfig(k *model.Kind) string {
	if k.Role != model.Managed {
		return ""
	}
	scopes := model.Scopes(k.Struct)
	if len(scopes) == 0 {
		scopes = []model.Scope{k.Scope}
	}
	for i, scope := range scopes {
		pkg := k.Package
		for _, other := range pkg.API.Packages {
			if i > 0 && other.Source == pkg {
				pkg = other
				break
			}
		}
		if _, ok := pkg.Config(scope); !ok {
			return fmt.Sprintf("%s: the %s kinds of %s have no ProviderConfig: declare one in a package whose group is a suffix of this one, "+
				"or set its group by +bowline:providerConfigGroup in doc.go", k.Name, strings.ToLower(string(scope)), pkg.Group())
		}
	}
	return ""
}

// claimMarker refuses markers without effect: the settings of a claim are neither compared with nor sent to an external system.
func claimMarker(_ *model.Kind, at model.Place) string {
	f := at.Field()
	for _, m := range f.Comment.Markers {
		switch ours := strings.HasPrefix(m.Name, "bowline:") && m.Name != nolintMarker; {
		case m.Name == "bowline:required":
			return fmt.Sprintf("%s is a setting of a claim, where +%s has no effect: make it a value without omitempty", f.Name, m.Name)
		case ours || strings.HasPrefix(m.Name, "crossplane:generate:reference"):
			return fmt.Sprintf("%s is a setting of a claim, where +%s has no effect: remove it", f.Name, m.Name)
		}
	}
	if list := parent(at, isCollection); list != nil && f.Comment.Has("immutable") {
		return fmt.Sprintf("%s is in the list or map %s: mark %s +immutable instead, or remove the marker", f.Name, list.Name, list.Name)
	}
	return ""
}

func claim(k *model.Kind) string {
	if k.Role != model.Claim {
		return ""
	}
	return cmp.Or(namespacedKind(k, "ResourceClaimStatus"), refuse(!k.Struct.Field("Spec").Omitted(),
		"the spec of %s may be empty: add omitempty to its json tag", k.Name))
}

func targetKind(k *model.Kind) string {
	if k.Role != model.Target {
		return ""
	}
	return cmp.Or(namespacedKind(k, "TargetStatus"), refuse(k.Struct.Field("Spec").Omitted(),
		"the spec of %s is required: remove omitempty from its json tag", k.Name))
}

// namespacedKind checks scope and status of claims and targets.
func namespacedKind(k *model.Kind, common string) string {
	status := k.Struct.Field("Status")
	switch {
	case setsScope(k, model.Cluster):
		return fmt.Sprintf("%s is a %s, which is always namespaced: remove the scope", k.Name, k.Role)
	case status != nil && (status.Embedded || !status.Type.Is(model.CommonPath, common)):
		return fmt.Sprintf("the status of %s must be that of all %ss: declare Status xpv1.%s `json:\"status,omitempty\"`", k.Name, k.Role, common)
	}
	return ""
}

func class(k *model.Kind) string {
	switch {
	case k.Role == model.Class:
		return authoredClass(k)
	case k.Role != model.Managed || !k.Struct.Comment.Has(model.ClassMarker):
		return ""
	case k.Scope != model.Cluster:
		return fmt.Sprintf("%s is namespaced, so teams could read the secrets of a class's managed resources: "+
			"remove +%s, or add the scope Cluster", k.Name, model.ClassMarker)
	}
	if of := k.Package.Kind(k.ClassName()); of == nil || of.Role != model.Class {
		return fmt.Sprintf("%s is not a class: embed xpv1.ClassSpecTemplate in its specTemplate, or rename it", k.ClassName())
	}
	return ""
}

// authoredClass checks a class that the author declared.
func authoredClass(k *model.Kind) string {
	of := k.ManagedKind()
	switch {
	case of == nil:
		return fmt.Sprintf("%s is the class of no kind: rename it to KINDClass, with the name of a managed kind of this package", k.Name)
	case of.Scope != model.Cluster:
		return fmt.Sprintf("%s is a class of %s, which is namespaced, so teams could read the secrets of its managed resources: "+
			"remove the class, or add the scope Cluster to %s", k.Name, of.Name, of.Name)
	case k.Parameters != of.Parameters:
		return fmt.Sprintf("%s does not have the settings of %s: add ForProvider %s `json:\"forProvider\"` to its specTemplate", k.Name, of.Name,
			of.Parameters.Name)
	case k.Struct.Field("Status") != nil:
		return fmt.Sprintf("%s is a template and has no status: remove the field", k.Name)
	case setsScope(k, model.Namespaced):
		return fmt.Sprintf("%s is a class, which is always cluster-scoped: remove the scope", k.Name)
	case len(k.ClaimKinds()) == 0:
		return fmt.Sprintf("%s satisfies no claim kind: add +%s=Kind.group", k.Name, model.ClaimsMarker)
	}
	return ""
}

// setsScope is true if a marker of bowline or kubebuilder sets the scope of a kind.
func setsScope(k *model.Kind, scope model.Scope) bool {
	return slices.Contains(model.Scopes(k.Struct), scope) || k.ExplicitScope() == scope
}
