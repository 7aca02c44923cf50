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

const machines = "machines.compute.cloud.example.org"

// at returns the schema that a path leads to; [] is the items of a list.
func at(t *testing.T, definition, path string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	s := *definitionOf(t, definition).Spec.Versions[0].Schema.OpenAPIV3Schema
	for step := range strings.FieldsSeq(strings.ReplaceAll(strings.ReplaceAll(path, "[]", " []"), ".", " ")) {
		if step == "[]" {
			s = *s.Items.Schema
			continue
		}
		below, ok := s.Properties[step]
		if !ok {
			t.Fatalf("%s: there is no %s", path, step)
		}
		s = below
	}
	return s
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	t.Run("what a rule compares is bounded (N33, K23)", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"spec.forProvider.image", "spec.initProvider.image", "spec.forProvider.disks[].type",
			"spec.initProvider.disks[].type", "spec.initProvider.boot.firmware"} {
			if got := at(t, machines, path).MaxLength; got == nil || *got != 1024 {
				t.Errorf("%s has no bound", path)
			}
		}
		if at(t, "machineclasses.compute.cloud.example.org", "specTemplate.forProvider.image").MaxLength == nil {
			t.Error("the image of a class may be longer than that of its machines")
		}
	})
	t.Run("what no rule compares is not (N33)", func(t *testing.T) {
		t.Parallel()
		if got := at(t, machines, "spec.forProvider.policy").MaxLength; got != nil {
			t.Errorf("policy has at most %d characters", *got)
		}
	})
	t.Run("init parameters are optional and without defaults (K15)", func(t *testing.T) {
		t.Parallel()
		init := at(t, machines, "spec.initProvider")
		if len(init.Required) > 0 || init.Properties["size"].Default != nil {
			t.Errorf("required %v, size %+v", init.Required, init.Properties["size"])
		}
	})
	t.Run("names fit into labels", func(t *testing.T) {
		t.Parallel()
		for _, definition := range []string{machines, "machineclaims.claims.cloud.example.org", "providerconfigs.cloud.example.org"} {
			if got := at(t, definition, "metadata.name").MaxLength; got == nil || *got != 63 {
				t.Errorf("names of %s have no bound", definition)
			}
		}
	})
	t.Run("descriptions begin with the name that users write (K11)", func(t *testing.T) {
		t.Parallel()
		for path, want := range map[string]string{
			"spec.providerConfigRef": "providerConfigRef names ", "spec.initProvider": "initProvider are ",
			"spec.providerConfigRef.name": "Name of ", "spec": "A MachineSpec ",
		} {
			if got := at(t, machines, path).Description; !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s", path, got)
			}
		}
	})
	t.Run("selectors have no unknown operators", func(t *testing.T) {
		t.Parallel()
		for definition, selector := range map[string]string{
			"machineclaims.claims.cloud.example.org":   "spec.classSelector",
			"machineclasses.compute.cloud.example.org": "specTemplate.claims.namespaceSelector",
			"gatewayclasses.network.cloud.example.org": "specTemplate.claims.namespaceSelector",
		} {
			if got := at(t, definition, selector+".matchExpressions[].operator").Enum; len(got) != 4 {
				t.Errorf("%s of %s accepts %d operators", selector, definition, len(got))
			}
		}
	})
	t.Run("common fields have defaults (T24)", func(t *testing.T) {
		t.Parallel()
		policies, config := at(t, machines, "spec.managementPolicies"), at(t, machines, "spec.providerConfigRef")
		if len(policies.Items.Schema.Enum) == 0 || string(policies.Default.Raw) != `["*"]` || string(config.Default.Raw) != `{"name":"default"}` {
			t.Errorf("managementPolicies %+v, providerConfigRef %+v", policies, config.Default)
		}
	})
}

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

func TestDescriptions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		definition, categories, columns string
		short                           string
		config, label, annotation       string // of the ProviderConfig, and of claim kinds
		scope                           apiextensionsv1.ResourceScope
		status                          bool
	}{
		"a claim, with a column of the author's (K33, K34, T22)": {
			definition: "machineclaims.claims.cloud.example.org", scope: apiextensionsv1.NamespaceScoped, status: true,
			categories: "claim claims", columns: "PHASE CLASS RESOURCE READY SIZE AGE",
		},
		"cluster-scoped (K5, N1, N29, N39, T22)": {
			definition: machines, scope: apiextensionsv1.ClusterScoped, status: true, short: "vm", config: "cloud.example.org",
			categories: "clustercrossplane clustermanaged clustercloud", columns: "READY SYNCED EXTERNAL-NAME SIZE AGE PHASE CLAIM-NAMESPACE CLAIM",
		},
		"namespaced, with a column of the author's (K5, N1, N29, T21, T22)": {
			definition: "machines.compute.cloud.m.example.org", scope: apiextensionsv1.NamespaceScoped, status: true, short: "vm", config: "cloud.m.example.org",
			categories: "crossplane managed cloud", columns: "READY SYNCED EXTERNAL-NAME SIZE AGE",
		},
		"a configuration (K51, N12)": {
			definition: "providerconfigs.cloud.example.org", scope: apiextensionsv1.ClusterScoped, status: true,
			categories: "clustercrossplane clusterprovider clustercloud", columns: "READY PROJECT USERS SECRET AGE",
		},
		"a class (K25, N10, N58, T22)": {
			definition: "machineclasses.compute.cloud.example.org", scope: apiextensionsv1.ClusterScoped, status: true, short: "vmclass",
			categories: "class classes", columns: "READY REASON PROVIDER-CONFIG RECLAIM-POLICY MAX DEFAULT AGE",
			label:      "machineclaim.claims.cloud.example.org",
			annotation: "machineclaim.claims.cloud.example.org,buildclaim.claims.cloud.example.org",
		},
		"a class by hand, without a status (T12, T13, N10, N58)": {
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
				string(d.Spec.Scope), strings.Join(d.Spec.Names.Categories, " "), strings.Join(d.Spec.Names.ShortNames, " "), strings.Join(columns, " "),
				d.Labels["bowline.dev/provider-config"], d.Labels["bowline.dev/claim-kind"], d.Annotations["bowline.dev/claim-kinds"],
			}
			if diff := cmp.Diff([]string{string(tc.scope), tc.categories, tc.short, tc.columns, tc.config, tc.label, tc.annotation}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if s := d.Spec.Versions[0].Subresources; (s != nil) != tc.status {
				t.Errorf("subresources %+v", s)
			}
		})
	}
}
