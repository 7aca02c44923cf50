// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

var (
	contractID = regexp.MustCompile(`\b[ADKNOPRT][0-9]+\b`)
	goName     = regexp.MustCompile(`^[A-Z]\w*[a-z][A-Z]\w*`)
)

// definitions returns what `kubectl explain` and `kubectl get` would show of the definitions below root and users cannot know: ids of
// the contract, fields by their names in Go, and short names of several kinds.
func definitions(root fs.FS) ([]string, error) {
	var found []string
	kinds := map[string]string{} // by short name
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return skipDir(name)
		case path.Base(path.Dir(name)) != "crds" || path.Ext(name) != ".yaml":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		var d apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &d); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, version := range d.Spec.Versions {
			found = append(found, descriptions(name, "", version.Schema.OpenAPIV3Schema)...)
		}
		for _, short := range d.Spec.Names.ShortNames {
			kind := d.Spec.Names.Kind // the same kind in both scopes shares its names
			if other := kinds[short]; other != "" && other != kind || slices.Contains(kubernetesShortNames(), short) {
				found = append(found, fmt.Sprintf("%s: short name %s is that of another kind", name, short))
			}
			kinds[short] = kind
		}
		return nil
	})
	return found, err
}

func descriptions(file, at string, s *apiextensionsv1.JSONSchemaProps) []string {
	var found []string
	if id := contractID.FindString(s.Description); id != "" {
		found = append(found, fmt.Sprintf("%s: the description of %s cites %s", file, at, id))
	}
	if name := goName.FindString(s.Description); name != "" && at != "" {
		found = append(found, fmt.Sprintf("%s: the description of %s begins with the Go name %s", file, at, name))
	}
	for name, below := range s.Properties {
		found = append(found, descriptions(file, at+"."+name, &below)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		found = append(found, descriptions(file, at+"[]", s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		found = append(found, descriptions(file, at+"[]", s.AdditionalProperties.Schema)...)
	}
	return found
}

// kubernetesShortNames are those of `kubectl api-resources` on a server without custom resources.
func kubernetesShortNames() []string {
	return []string{"all", "cm", "cs", "ep", "ev", "limits", "ns", "no", "pvc", "pv", "po", "rc", "quota", "sa", "svc", "crd", "crds", "ds",
		"deploy", "rs", "sts", "hpa", "cj", "csr", "ing", "netpol", "pdb", "pc", "sc", "ip", "vac"}
}
