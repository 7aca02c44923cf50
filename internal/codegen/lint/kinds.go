// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
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
	for _, m := range k.Struct.Comment.Markers {
		_, after, found := strings.Cut(m.String(), "scope=")
		explicit, _, _ := strings.Cut(after, ",")
		if found && strings.HasPrefix(m.Name, "kubebuilder:resource") && len(scopes) > 0 && explicit != string(scopes[0]) {
			return fmt.Sprintf("+bowline:scopes sets %s, +kubebuilder:resource sets %s: remove the latter", scopes[0], explicit)
		}
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
		if pkg := k.Package.API.Package(part.of.Import); part.of.Name == "" || pkg != nil && pkg.Structs[part.of.Name] == nil {
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
