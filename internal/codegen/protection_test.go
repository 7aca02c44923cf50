// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	claims "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/claims/v1alpha1"
	compute "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/compute/v1alpha1"
	network "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/network/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/crd"
)

// A victim is an object to be deleted.
type victim struct {
	metadata, spec, status string // as YAML
	plain                  bool   // of a kind that holds no data
	refused                string // a part of the message, empty for none
}

// prepare creates an object with the finalizer of managed resources, which is removed at the end of the test.
func (v victim) prepare(t *testing.T, env *controlplanetest.Env, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	text := fmt.Sprintf("{spec: {forProvider: {image: a, networkId: b}, %s}, status: {%s}, metadata: {%s}}", v.spec, v.status, v.metadata)
	o := template(t, compute.MachineGroupVersionKind, env.Prefix+name, text)
	if v.plain {
		o.SetGroupVersionKind(network.NetworkGroupVersionKind)
		if err := unstructured.SetNestedMap(o.Object, map[string]any{"cidrBlock": "10.0.0.0/8"}, "spec", "forProvider"); err != nil {
			t.Fatal(err)
		}
	}
	if namespace != "" {
		o = machine(t, namespace, name, `{forProvider: {image: a, networkId: b}}`)
	}
	if _, set := o.Object["metadata"].(map[string]any)["finalizers"]; !set {
		o.SetFinalizers([]string{"finalizer.managedresource.crossplane.io"})
	}
	o.SetLabels(map[string]string{"of": env.Namespace})
	status := o.Object["status"]
	if err := env.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		released := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"bowline.dev/orphan-on-delete":"true"}}}`))
		err := env.Client.Patch(context.Background(), o, released)
		if err = errors.Join(client.IgnoreNotFound(err), testkit.Remove(context.Background(), env.Client, o)); err != nil {
			t.Error(err)
		}
	})
	if content, _ := yaml.Marshal(map[string]any{"status": status}); v.status != "" {
		merge, err := yaml.YAMLToJSON(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := env.Client.Status().Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", merge)); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func protected(t *testing.T) *controlplanetest.Env {
	t.Helper()
	env := controlplanetest.New(t)
	env.Config.WarningHandlerWithContext = rest.NoWarnings{} // of the form of our finalizer
	var err error
	if env.Client, err = client.NewWithWatch(env.Config, client.Options{Scheme: env.Scheme}); err != nil {
		t.Fatal(err)
	}
	if err := crd.Protect(t.Context(), env.Config, os.DirFS("testdata/cloud/apis/crds")); err != nil {
		t.Fatal(err)
	}
	return env
}

// What must not be deleted is refused at admission, with the reason and what to do.
func TestDeletionProtection(t *testing.T) {
	t.Parallel()
	env := protected(t)
	const claim = `claimRef: {kind: MachineClaim, name: orders, namespace: team-a, uid: u}`
	const inUse = `conditions: [{type: InUse, status: "True", reason: InUse, message: Used by a., lastTransitionTime: "2026-01-01T00:00:00Z"}]`
	const holds, bound = "it is protected because objects of its kind hold data", "delete claim team-a/orders"
	annotated := func(key, value string) string { return fmt.Sprintf("annotations: {bowline.dev/%s: %q}", key, value) }
	number := 0
	for name, v := range map[string]victim{
		"bound to a claim (N39)":                        {spec: claim, status: `bindingPhase: Bound`, plain: true, refused: bound},
		"created for a claim, not bound yet (N39)":      {spec: claim, plain: true, refused: bound},
		"although protection is removed (N39)":          {spec: claim, metadata: annotated("protect", "false"), refused: bound},
		"unless the claim is deleted by policy (N39)":   {spec: claim + `, reclaimPolicy: Delete`, metadata: annotated("reclaimed-from", "u")},
		"of another claim, earlier (N39)":               {spec: claim + `, reclaimPolicy: Delete`, metadata: annotated("reclaimed-from", "v"), refused: bound},
		"released, to be kept (N39)":                    {spec: claim + `, reclaimPolicy: Retain`, status: `bindingPhase: Released`},
		"released, to be deleted (N39)":                 {spec: claim + `, reclaimPolicy: Delete`, status: `bindingPhase: Released`, refused: holds},
		"released, without data (N39)":                  {spec: claim + `, reclaimPolicy: Retain`, status: `bindingPhase: Released`, plain: true},
		"a claim is only meant (N39)":                   {spec: `claimRef: {kind: MachineClaim, name: orders, namespace: team-a}`, plain: true},
		"in use (N39)":                                  {status: inUse, plain: true, refused: "it is in use. Used by a. Delete what uses it first"},
		"in use, also by reclaim policy (N39)":          {spec: claim + `, reclaimPolicy: Delete`, status: inUse, metadata: annotated("reclaimed-from", "u"), refused: "in use"},
		"protected, also from its claim (N64)":          {spec: claim + `, reclaimPolicy: Delete`, plain: true, metadata: `annotations: {bowline.dev/protect: "true", bowline.dev/reclaimed-from: u}`, refused: "it is protected: "},
		"no longer in use (N39)":                        {status: strings.Replace(inUse, `"True"`, `"False"`, 1), plain: true},
		"a kind that holds data (N39)":                  {refused: holds},
		"with the command that helps (N39)":             {refused: "kubectl annotate Machine.compute.cloud.example.org " + env.Prefix},
		"no external resource yet (N39)":                {metadata: `finalizers: [example.org/other]`},
		"another value removes no protection (N39)":     {metadata: annotated("protect", "True"), refused: holds},
		"nor does an empty one (N39)":                   {metadata: annotated("protect", ""), refused: holds},
		"no policies, until they are set (N39)":         {spec: `managementPolicies: []`, refused: holds},
		"protection removed (N39)":                      {metadata: annotated("protect", "false")},
		"protected by annotation (N39)":                 {metadata: annotated("protect", "true"), plain: true, refused: "it is protected: "},
		"not protected (N39)":                           {plain: true},
		"keeping the external resource (N31, N39)":      {metadata: annotated("orphan-on-delete", "true"), spec: claim, status: inUse},
		"keeping it by deletion policy (N39)":           {spec: `deletionPolicy: Orphan`},
		"keeping it by management policies (N39)":       {spec: `managementPolicies: [Observe, Create]`},
		"policies that permit the deletion (N39)":       {spec: `managementPolicies: [Observe, Delete]`, refused: holds},
		"protected although it would be kept (N39)":     {spec: `deletionPolicy: Orphan`, metadata: annotated("protect", "true"), refused: "it is protected: "},
		"reclaimed, with policy Retain meanwhile (N39)": {spec: claim + `, reclaimPolicy: Retain`, metadata: annotated("reclaimed-from", "u"), refused: bound},
	} {
		number++
		object := fmt.Sprint(number)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := v.prepare(t, env, "", object)
			expect(t, env.Client.Delete(t.Context(), o), v.refused)
			if v.refused == "" {
				expect(t, env.Client.Delete(t.Context(), o), "") // once more, while it is being deleted
			}
		})
	}
}

// One request for all objects of a kind deletes those only that may be deleted.
func TestDeletionOfCollection(t *testing.T) {
	t.Parallel()
	env := protected(t)
	o := victim{}.prepare(t, env, "", "kept")
	all := &unstructured.Unstructured{}
	all.SetGroupVersionKind(compute.MachineGroupVersionKind)
	err := env.Client.DeleteAllOf(t.Context(), all, client.MatchingLabels{"of": env.Namespace})
	t.Run("a deletion of all objects is refused (N39)", func(t *testing.T) { expect(t, err, "hold data") })
	t.Run("and leaves them (N39)", func(t *testing.T) {
		if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil || o.GetDeletionTimestamp() != nil {
			t.Errorf("%v, %v", err, o.GetDeletionTimestamp())
		}
	})
}

// A namespace shows why it stays, and is deleted once the protection is removed.
func TestDeletionOfNamespace(t *testing.T) {
	t.Parallel()
	env := protected(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.Prefix + "infra"}}
	if err := env.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	o := victim{}.prepare(t, env, ns.Name, "m")
	if err := env.Client.Delete(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Run("the namespace shows the refusal (N39)", func(t *testing.T) {
		env.Eventually(t, "a condition has the message", func(ctx context.Context) error {
			if err := env.Client.Get(ctx, client.ObjectKeyFromObject(ns), ns); err != nil {
				return err
			}
			for _, c := range ns.Status.Conditions {
				if c.Type == corev1.NamespaceDeletionContentFailure && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, "hold data") {
					return nil
				}
			}
			return fmt.Errorf("conditions %+v", ns.Status.Conditions)
		})
	})
	t.Run("the object stays until its protection is removed (N39)", func(t *testing.T) {
		if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil || o.GetDeletionTimestamp() != nil {
			t.Fatalf("%v, %v", err, o.GetDeletionTimestamp())
		}
		expect(t, patch(t, env, o, `{metadata: {finalizers: null, annotations: {bowline.dev/protect: "false"}}}`), "")
		env.Eventually(t, "the namespace is deleted", testkit.Gone(env.Client, ns))
	})
}

// The deletion of a definition deletes its objects past admission.
func TestDeletionOfDefinition(t *testing.T) {
	t.Parallel()
	env := protected(t)
	for name, tc := range map[string]struct{ definition, annotations, refused string }{
		"of managed resources (N39)":   {"machines.compute.cloud.example.org", ``, "set the annotation bowline.dev/allow-deletion"},
		"of claims (N39)":              {"machineclaims.claims.cloud.example.org", ``, "deletes all objects"},
		"of configurations (N39)":      {"providerconfigs.cloud.example.org", ``, "deletes all objects"},
		"permitted by a person (N39)":  {"networks.network.cloud.m.example.org", `bowline.dev/allow-deletion: "true"`, ""},
		"of another API, freely (N39)": {"", ``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: tc.definition}}
			if tc.definition == "" {
				d = kinds.Definition(schema.GroupVersion{Group: strings.Trim(env.Prefix, "-") + ".example.net", Version: "v1"}, "Other", apiextensionsv1.ClusterScoped)
				if err := env.Client.Create(t.Context(), d); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = env.Client.Delete(context.Background(), d) })
			}
			if tc.annotations != "" {
				expect(t, patch(t, env, d, "{metadata: {annotations: {"+tc.annotations+"}}}"), "")
			}
			expect(t, env.Client.Delete(t.Context(), d, client.DryRunAll), tc.refused)
		})
	}
}

// A team that removes the finalizer of a claim would no longer be counted for its managed resource.
func TestFinalizerOfClaim(t *testing.T) {
	t.Parallel()
	env := protected(t)
	rule := func(verb string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{claims.Group}, Resources: resources, Verbs: []string{verb}}
	}
	const ours = "finalizer.resourceclaim.crossplane.io"
	const none, others, with = `{metadata: {finalizers: null}}`, `{metadata: {finalizers: [` + ours + `]}}`, `{metadata: {finalizers: [a.example.org/b, ` + ours + `, c.example.org/d]}}`
	number := 0
	for name, tc := range map[string]struct {
		more           []rbacv1.PolicyRule // beyond writing claims
		deleted        bool                // before
		patch, refused string
	}{
		"by a team (N67)":                            {deleted: true, patch: none, refused: "which may update machineclaims/finalizers"},
		"by a team that deletes it later (N67)":      {patch: none, refused: "stays until the managed resource of the claim is released"},
		"by a team, in a list (N67)":                 {deleted: true, patch: `{metadata: {finalizers: [a.example.org/b]}}`, refused: ours},
		"other finalizers, by a team (N67)":          {deleted: true, patch: others},
		"more finalizers, by a team (N67)":           {patch: with},
		"other fields, by a team (N67)":              {deleted: true, patch: `{metadata: {annotations: {a: b}}}`},
		"by a person who may (N67)":                  {deleted: true, patch: none, more: []rbacv1.PolicyRule{rule("update", "machineclaims/finalizers")}},
		"by controllers, which write statuses (N67)": {deleted: true, patch: none, more: []rbacv1.PolicyRule{rule("patch", "machineclaims/status")}},
		"by a reader of statuses (N67)":              {deleted: true, patch: none, more: []rbacv1.PolicyRule{rule("get", "machineclaims/status")}, refused: ours},
	} {
		number++
		user := env.Prefix + fmt.Sprint(number)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: user}, Rules: append(tc.more, rule("patch", "machineclaims"))}
			binding := &rbacv1.RoleBinding{
				ObjectMeta: role.ObjectMeta,
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			}
			claim := template(t, claims.MachineClaimGroupVersionKind, user, `{}`)
			claim.SetNamespace(env.Namespace)
			claim.SetFinalizers([]string{"a.example.org/b", ours})
			for _, o := range []client.Object{role, binding, claim} {
				expect(t, env.Client.Create(t.Context(), o), "")
			}
			t.Cleanup(func() { _ = testkit.Remove(context.Background(), env.Client, claim) })
			if tc.deleted {
				expect(t, env.Client.Delete(t.Context(), claim), "")
			}
			env.InForce(t, user, env.Namespace, rule("patch", "machineclaims"))
			by := *env
			by.Config = rest.CopyConfig(env.Config)
			by.Config.Impersonate.UserName = user
			var err error
			if by.Client, err = client.NewWithWatch(by.Config, client.Options{Scheme: env.Scheme}); err != nil {
				t.Fatal(err)
			}
			expect(t, patch(t, &by, claim, tc.patch), tc.refused)
		})
	}
}
