// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAddServed(t *testing.T) {
	tests := map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		known  string // group and version that discovery lists the kind in
		want   []string
	}{
		"established":                  {want: []string{"v1", "test/v2"}},
		"listed":                       {known: "test/v2", want: []string{"v1", "test/v2"}},
		"listed in another version":    {known: "test/v1", want: []string{"v1", "test/v1"}},
		"other group":                  {known: "other/v2", want: []string{"v1", "other/v2", "test/v2"}},
		"stored version is not served": {change: unserve(1), want: []string{"v1", "test/v1"}},
		"no version is served":         {change: unserve(0, 1), want: []string{"v1"}},
		"not established yet, but served": {
			change: condition(apiextensionsv1.Established, apiextensionsv1.ConditionFalse), want: []string{"v1", "test/v2"},
		},
		"established, names are refused later": {
			change: condition(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse), want: []string{"v1", "test/v2"},
		},
		"never established": {
			change: func(d *apiextensionsv1.CustomResourceDefinition) { d.Status.Conditions = nil }, want: []string{"v1"},
		},
		"cluster-scoped": {
			change: func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Scope = apiextensionsv1.ClusterScoped }, want: []string{"v1"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			lists := []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "secrets"}}}}
			if tc.known != "" {
				lists = append(lists, &metav1.APIResourceList{GroupVersion: tc.known, APIResources: []metav1.APIResource{{Name: "things"}}})
			}
			d := things()
			if tc.change != nil {
				tc.change(d)
			}
			var got []string
			for _, list := range addServed(lists, []*apiextensionsv1.CustomResourceDefinition{d}) {
				got = append(got, list.GroupVersion)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("groups and versions, -want +got:\n%s", diff)
			}
		})
	}
}

// things is the definition of a namespaced kind that is established and stored in the second of two versions.
func things() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "test", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"},
			Scope:    apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}, {Name: "v2", Served: true, Storage: true}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}},
	}
}

func unserve(versions ...int) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(d *apiextensionsv1.CustomResourceDefinition) {
		for _, i := range versions {
			d.Spec.Versions[i].Served = false
		}
	}
}

func condition(of apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(d *apiextensionsv1.CustomResourceDefinition) {
		for i := range d.Status.Conditions {
			if d.Status.Conditions[i].Type == of {
				d.Status.Conditions[i].Status = status
			}
		}
	}
}
