// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/apis/crds"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

const configMap = `template: {apiVersion: v1, kind: ConfigMap, metadata: {name: m}}`

// What no application and no resource of one can be.
func TestWorkloadAdmission(t *testing.T) {
	t.Parallel()
	app, resource := workloadv1alpha1.KubernetesApplicationGroupVersionKind, workloadv1alpha1.KubernetesApplicationResourceGroupVersionKind
	env := controlplanetest.New(t)
	strict := client.WithFieldValidation(env.Client, metav1.FieldValidationStrict)
	templates := func(names ...string) string {
		var all []string
		for _, name := range names {
			all = append(all, `{metadata: {name: `+name+`}, spec: {`+configMap+`}}`)
		}
		return `{spec: {resourceTemplates: [` + strings.Join(all, ", ") + `]}}`
	}
	many := make([]string, 251)
	for i := range many {
		many[i] = fmt.Sprintf("t%d", i)
	}
	for name, tc := range map[string]struct{ text, refused string }{
		"two templates (K81)":                      {templates("a", "b"), ""},
		"no templates at all (K81)":                {`{spec: {resourceTemplates: []}}`, ""},
		"a target by name and by labels (K81)":     {`{spec: {targetRef: {name: t}, targetSelector: {matchLabels: {a: b}}, resourceTemplates: []}}`, ""},
		"no list of templates (K81)":               {`{spec: {}}`, "resourceTemplates"},
		"two templates of one name (K81)":          {templates("a", "a"), "each template needs a metadata.name of its own"},
		"250 templates (K81)":                      {templates(many[:250]...), ""},
		"251 templates (K81)":                      {templates(many...), "must have at most 250 items"},
		"a template of an impossible name (K81)":   {templates("A_B"), "should match"},
		"an object without a name (K81)":           {`{spec: {resourceTemplates: [{metadata: {name: a}, spec: {template: {apiVersion: v1, kind: ConfigMap}}}]}}`, "the object needs a metadata.name"},
		"an object without a kind (K81)":           {`{spec: {resourceTemplates: [{metadata: {name: a}, spec: {template: {apiVersion: v1, metadata: {name: m}}}}]}}`, "kind"},
		"an object of an impossible name (K81)":    {`{spec: {resourceTemplates: [{metadata: {name: a}, spec: {template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 3}}}}]}}`, "cannot unmarshal number"},
		"an object with settings of its own (K81)": {`{spec: {resourceTemplates: [{metadata: {name: a}, spec: {template: {apiVersion: a/v1, kind: B, metadata: {name: m}, spec: {x: [1, {y: z}]}}}}]}}`, ""},
		"a target without a name (K81)":            {`{spec: {targetRef: {name: ""}, resourceTemplates: []}}`, "should be at least 1 chars long"},
		"a Secret named twice (K81)":               {`{spec: {resourceTemplates: [{metadata: {name: a}, spec: {` + configMap + `, secrets: [{name: s}, {name: s}]}}]}}`, "Duplicate value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, strict.Create(t.Context(), claim(t, app, env.Namespace, tc.text)), tc.refused)
		})
	}
	t.Run("a resource keeps all of its object (K81)", func(t *testing.T) {
		t.Parallel()
		have := claim(t, resource, env.Namespace, `{spec: {template: {apiVersion: a/v1, kind: B, metadata: {name: m}, spec: {x: [1, {y: z}]}}}}`)
		if err := strict.Create(t.Context(), have); err != nil {
			t.Fatal(err)
		}
		x, _, _ := unstructured.NestedSlice(have.Object, "spec", "template", "spec", "x")
		if len(x) != 2 {
			t.Errorf("it has %v", have.Object)
		}
	})
}

// Secrets are copied to a cluster for those only who may get them.
func TestWorkloadSecrets(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	policies, err := crds.FS.ReadFile("protection.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(policies, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, o); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(o.GetName(), "secrets.") {
			continue
		}
		if err := env.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("test"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	users := map[string][]rbacv1.PolicyRule{
		"some": {{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"mine", "ours"}, Verbs: []string{"get"}}},
		"all":  {{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}},
		"none": nil,
	}
	as := map[string]client.Client{}
	for name, rules := range users {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{workloadv1alpha1.Group}, Resources: []string{"*"}, Verbs: []string{"create", "update"}})
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: name}, Rules: rules}
		binding := &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}}
		for _, o := range []client.Object{role, binding} {
			if err := env.Client.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		env.InForce(t, name, env.Namespace, rules[len(rules)-1])
		config := rest.CopyConfig(env.Config)
		config.Impersonate.UserName = name
		if as[name], err = client.New(config, client.Options{Scheme: env.Scheme, Mapper: env.Client.RESTMapper()}); err != nil {
			t.Fatal(err)
		}
	}
	const refused = "who may get the Secrets of namespace"
	app := func(secrets string) *unstructured.Unstructured {
		return claim(t, workloadv1alpha1.KubernetesApplicationGroupVersionKind, env.Namespace,
			`{spec: {resourceTemplates: [{metadata: {name: a}, spec: {`+configMap+`, secrets: [`+secrets+`]}}]}}`)
	}
	env.Eventually(t, "the policy is in force", func(ctx context.Context) error {
		if err := as["none"].Create(ctx, app("{name: mine}"), client.DryRunAll); err == nil || !strings.Contains(err.Error(), refused) {
			return fmt.Errorf("it permits: %w", err)
		}
		return nil
	})
	for name, tc := range map[string]struct{ user, secrets, refused string }{
		"no Secret (N95)":                  {"none", "", ""},
		"all of the namespace (N95)":       {"all", "{name: mine}, {name: theirs}", ""},
		"of a user who may get some (N95)": {"some", "{name: mine}", refused},
		"of a user who may get none (N95)": {"none", "{name: mine}", refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, as[tc.user].Create(t.Context(), app(tc.secrets), client.DryRunAll), tc.refused)
			one := claim(t, workloadv1alpha1.KubernetesApplicationResourceGroupVersionKind, env.Namespace, `{spec: {`+configMap+`, secrets: [`+tc.secrets+`]}}`)
			wantRefused(t, as[tc.user].Create(t.Context(), one, client.DryRunAll), tc.refused)
		})
	}
}
