// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// machine returns the generated definition of a kind of the test API.
func machine(t *testing.T, group string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return definitionOf(t, "machines."+group)
}

const cluster, namespaced = "compute.cloud.example.org", "compute.cloud.m.example.org"

func TestDescription(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		group, label string
		scope        apiextensionsv1.ResourceScope
	}{
		"cluster-scoped (N1, N29)": {cluster, "cloud.example.org", apiextensionsv1.ClusterScoped},
		"namespaced (N1, N29)":     {namespaced, "cloud.m.example.org", apiextensionsv1.NamespaceScoped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := machine(t, tc.group)
			if d.Spec.Scope != tc.scope || d.Labels["bowline.dev/provider-config"] != tc.label {
				t.Errorf("scope %s, labels %v", d.Spec.Scope, d.Labels)
			}
			if diff := cmp.Diff([]string{"crossplane", "managed", "cloud"}, d.Spec.Names.Categories); diff != "" {
				t.Errorf("categories -want +got:\n%s", diff)
			}
			if diff := cmp.Diff([]string{"vm"}, d.Spec.Names.ShortNames); diff != "" {
				t.Errorf("short names of the author -want +got:\n%s", diff)
			}
		})
	}
	t.Run("columns of the author among the usual ones (T21, T22)", func(t *testing.T) {
		t.Parallel()
		var got []string
		for _, c := range machine(t, namespaced).Spec.Versions[0].AdditionalPrinterColumns {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff([]string{"READY", "SYNCED", "EXTERNAL-NAME", "SIZE", "AGE"}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("the status is a subresource (K5)", func(t *testing.T) {
		t.Parallel()
		if s := machine(t, cluster).Spec.Versions[0].Subresources; s == nil || s.Status == nil {
			t.Errorf("got %+v", s)
		}
	})
}

// at returns the schema that a path below spec leads to; [] is the items of a list.
func at(t *testing.T, d *apiextensionsv1.CustomResourceDefinition, path string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	s := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
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

// Rules that the kinds of the example cloud have no use for; package codegen compares all of theirs with those by hand.
func TestRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		group, path, rule string
		not               bool
	}{
		"what holds an immutable field cannot be removed (N33)": {
			group: cluster, path: "forProvider",
			rule: "!oldSelf.?boot.?firmware.hasValue() || (self.?boot.?firmware.hasValue() && self.boot.firmware == oldSelf.boot.firmware)",
		},
		"in a list that is a map the rule is at the items (N33)": {
			group: cluster, path: "forProvider.disks[]", rule: "!has(oldSelf.type) || (has(self.type) && self.type == oldSelf.type)",
		},
		"required where its optional struct is given (O32)": {
			group: cluster, path: "",
			rule: writes + "!(has(self.forProvider.boot) || self.?initProvider.?boot.hasValue()) || " +
				"self.forProvider.?boot.?firmware.hasValue() || self.?initProvider.?boot.?firmware.hasValue()",
		},
		"required by value, reference or selector (O32, R171)": {
			group: namespaced, path: "",
			rule: writes + "has(self.forProvider.networkId) || has(self.forProvider.networkIdRef) || has(self.forProvider.networkIdSelector) || " +
				"self.?initProvider.?networkId.hasValue() || self.?initProvider.?networkIdRef.hasValue() || " +
				"self.?initProvider.?networkIdSelector.hasValue()",
		},
		"the Secret of a namespaced object is in its namespace (N2)": {
			group: namespaced, path: "forProvider.passwordSecretRef", rule: "!has(self.__namespace__) || self.__namespace__ == ''",
		},
		"that of a cluster-scoped object is anywhere (N2)": {
			group: cluster, path: "forProvider.passwordSecretRef", rule: "!has(self.__namespace__) || self.__namespace__ == ''", not: true,
		},
		"what cannot change stays in initProvider, too (N7, N33)": {
			group: cluster, path: "",
			rule: "oldSelf.forProvider.?boot.?firmware.hasValue() || !oldSelf.?initProvider.?boot.?firmware.hasValue() || " +
				"(self.forProvider.?boot.?firmware.hasValue() ? self.forProvider.boot.firmware == oldSelf.initProvider.boot.firmware : " +
				"self.?initProvider.?boot.?firmware.hasValue() && self.initProvider.boot.firmware == oldSelf.initProvider.boot.firmware)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := at(t, machine(t, tc.group), tc.path).XValidations
			if got := slices.ContainsFunc(rules, func(v apiextensionsv1.ValidationRule) bool { return v.Rule == tc.rule }); got == tc.not {
				t.Errorf("there: %t, among %+v", got, rules)
			}
		})
	}
}

const writes = "!self.managementPolicies.exists(p, p in ['*', 'Create', 'Update']) || "

func TestBounds(t *testing.T) {
	t.Parallel()
	t.Run("what a rule compares is bounded (N33)", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{
			"forProvider.image", "initProvider.image", "forProvider.disks[].type", "initProvider.disks[].type", "initProvider.boot.firmware",
		} {
			if got := at(t, machine(t, cluster), path).MaxLength; got == nil || *got != 1024 {
				t.Errorf("%s has no bound", path)
			}
		}
	})
	t.Run("what no rule compares is not (N33)", func(t *testing.T) {
		t.Parallel()
		if got := at(t, machine(t, cluster), "forProvider.policy").MaxLength; got != nil {
			t.Errorf("policy has at most %d characters", *got)
		}
	})
	t.Run("init parameters are optional and without defaults (K15)", func(t *testing.T) {
		t.Parallel()
		init := at(t, machine(t, cluster), "initProvider")
		if len(init.Required) > 0 || init.Properties["size"].Default != nil {
			t.Errorf("required %v, size %+v", init.Required, init.Properties["size"])
		}
	})
}
