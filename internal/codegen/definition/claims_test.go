// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// definitionOf returns what is generated for a kind of the test API, by the definition's name.
func definitionOf(t *testing.T, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crd.Load(os.DirFS("../testdata/cloud/apis/crds"))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(d *apiextensionsv1.CustomResourceDefinition) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("no definition %s", name)
	}
	return all[i]
}

func TestClaimsAndClasses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		definition, categories, columns string
		label, annotation               string
		scope                           apiextensionsv1.ResourceScope
		status                          bool
	}{
		"a claim, with a column of the author's (K33, K34, T22)": {
			definition: "machineclaims.claims.cloud.example.org", scope: apiextensionsv1.NamespaceScoped, status: true,
			categories: "claim claims", columns: "PHASE CLASS RESOURCE READY SIZE AGE",
		},
		"a class (K24, K25, N10, T22)": {
			definition: "machineclasses.compute.cloud.example.org", scope: apiextensionsv1.ClusterScoped,
			categories: "class classes", columns: "PROVIDER-CONFIG RECLAIM-POLICY MAX DEFAULT AGE",
			label:      "machineclaim.claims.cloud.example.org",
			annotation: "machineclaim.claims.cloud.example.org,buildclaim.claims.cloud.example.org",
		},
		"a class by hand (T12, T13, N10)": {
			definition: "gatewayclasses.network.cloud.example.org", scope: apiextensionsv1.ClusterScoped,
			categories: "class classes", columns: "PROVIDER-CONFIG RECLAIM-POLICY MAX DEFAULT AGE",
			label: "gatewayclaim.claims.cloud.example.org", annotation: "gatewayclaim.claims.cloud.example.org",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := definitionOf(t, tc.definition)
			var columns []string
			for _, c := range d.Spec.Versions[0].AdditionalPrinterColumns {
				columns = append(columns, c.Name)
			}
			got := []string{
				string(d.Spec.Scope), strings.Join(d.Spec.Names.Categories, " "), strings.Join(columns, " "),
				d.Labels["bowline.dev/claim-kind"], d.Annotations["bowline.dev/claim-kinds"],
			}
			if diff := cmp.Diff([]string{string(tc.scope), tc.categories, tc.columns, tc.label, tc.annotation}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if s := d.Spec.Versions[0].Subresources; (s != nil) != tc.status {
				t.Errorf("subresources %+v", s)
			}
		})
	}
}

// What keeps values of managed resources as they are does not hold for their classes; what limits them does.
func TestTemplates(t *testing.T) {
	t.Parallel()
	managed := machine(t, cluster).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	class := definitionOf(t, "machineclasses."+cluster).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["specTemplate"]
	for name, tc := range map[string]struct {
		schema apiextensionsv1.JSONSchemaProps
		least  int
	}{"the managed kind compares with what was (N7)": {managed, 5}, "its class does not (K23)": {class, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := transitions(tc.schema.Properties["forProvider"]); (got > 0) != (tc.least > 0) || got < tc.least {
				t.Errorf("%d rules compare, want at least %d", got, tc.least)
			}
		})
	}
	t.Run("values fit (K23, N33)", func(t *testing.T) {
		t.Parallel()
		image := class.Properties["forProvider"].Properties["image"]
		if diff := cmp.Diff(managed.Properties["forProvider"].Properties["image"], image); diff != "" || image.MaxLength == nil {
			t.Errorf("-managed kind +class:\n%s", diff)
		}
	})
}

// transitions counts rules that compare with what was before.
func transitions(s apiextensionsv1.JSONSchemaProps) int {
	count := 0
	for _, v := range s.XValidations {
		if strings.Contains(v.Rule, "oldSelf") {
			count++
		}
	}
	for _, p := range s.Properties {
		count += transitions(p)
	}
	if s.Items != nil && s.Items.Schema != nil {
		count += transitions(*s.Items.Schema)
	}
	return count
}
