// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestLacking(t *testing.T) {
	t.Parallel()
	type properties = map[string]apiextensionsv1.JSONSchemaProps
	of := func(p properties) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Properties: p}
	}
	list := func(p properties) apiextensionsv1.JSONSchemaProps {
		element := of(p)
		return apiextensionsv1.JSONSchemaProps{Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &element}}
	}
	version := func(name string, served bool, p properties) apiextensionsv1.CustomResourceDefinitionVersion {
		schema := of(p)
		return apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: served,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema}}
	}
	definition := func(v ...apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: v}}
	}
	wanted := definition(version("v1", true, properties{"spec": of(properties{"size": {}, "rules": list(properties{"from": {}})})}))
	for name, tc := range map[string]struct {
		installed *apiextensionsv1.CustomResourceDefinition
		want      string
	}{
		"the same":        {wanted, ""},
		"a later version": {definition(version("v2", true, nil), version("v1", true, properties{"spec": of(properties{"size": {}, "rules": list(properties{"from": {}}), "more": {}})})), ""},
		"no version":      {definition(version("v0", true, nil)), "version v1"},
		"not served":      {definition(version("v1", false, nil)), "version v1"},
		"no field":        {definition(version("v1", true, properties{"spec": of(properties{"rules": list(properties{"from": {}})})})), "field .spec.size in version v1"},
		"no field of a list": {definition(version("v1", true, properties{"spec": of(properties{"size": {}, "rules": list(nil)})})),
			"field .spec.rules[].from in version v1"},
	} {
		if got, _ := lacking(tc.installed, wanted); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
