// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	computev1alpha1 "github.com/bowline-dev/bowline/apis/compute/v1alpha1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	storagev1alpha1 "github.com/bowline-dev/bowline/apis/storage/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

// claim returns one as a team would write it.
func claim(t *testing.T, gvk schema.GroupVersionKind, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(namespace)
	u.SetGenerateName("claim-")
	return u
}

// wantRefused wants an error that says something, or none.
func wantRefused(t *testing.T, err error, says string) {
	t.Helper()
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %q", err, says)
	}
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	postgres, mysql := databasev1alpha1.PostgreSQLInstanceGroupVersionKind, databasev1alpha1.MySQLInstanceGroupVersionKind
	fancy, redis := databasev1alpha1.FancySQLInstanceGroupVersionKind, cachev1alpha1.RedisClusterGroupVersionKind
	bucket, cluster := storagev1alpha1.BucketGroupVersionKind, computev1alpha1.KubernetesClusterGroupVersionKind
	const shouldMatch, unsupported = "should match", "Unsupported value"
	env := controlplanetest.New(t)
	strict := client.WithFieldValidation(env.Client, metav1.FieldValidationStrict)
	for name, tc := range map[string]struct {
		gvk           schema.GroupVersionKind
		text, refused string
	}{
		"nothing at all (K32)":                    {postgres, `{}`, ""},
		"an empty spec (K32)":                     {fancy, `{spec: {}}`, ""},
		"by label (K38)":                          {redis, `{spec: {classSelector: {matchLabels: {size: small}}}}`, ""},
		"a Secret of its namespace (K38)":         {postgres, `{spec: {writeConnectionSecretToRef: {name: a}}}`, ""},
		"no Secret of another namespace (K38)":    {postgres, `{spec: {writeConnectionSecretToRef: {name: a, namespace: kube-system}}}`, "unknown field"},
		"no Secret without a name (K38)":          {postgres, `{spec: {writeConnectionSecretToRef: {}}}`, "name"},
		"no Secret of an impossible name (K38)":   {postgres, `{spec: {writeConnectionSecretToRef: {name: Bad_Name}}}`, shouldMatch},
		"a Secret of any possible name (K38)":     {postgres, `{spec: {writeConnectionSecretToRef: {name: my-db.prod}}}`, ""},
		"a class by kind and name (K38)":          {fancy, `{spec: {classRef: {apiVersion: a/v1, kind: B, name: c}}}`, ""},
		"no class without its kind (K38)":         {fancy, `{spec: {classRef: {name: c}}}`, "a class is named by apiVersion, kind and name"},
		"no managed resource without it (K38)":    {fancy, `{spec: {resourceRef: {name: c}}}`, "a managed resource is named by apiVersion, kind and name"},
		"PostgreSQL 15":                           {postgres, `{spec: {engineVersion: "15"}}`, ""},
		"PostgreSQL 9.6":                          {postgres, `{spec: {engineVersion: "9.6"}}`, ""},
		"PostgreSQL, latest":                      {postgres, `{spec: {engineVersion: latest}}`, shouldMatch},
		"PostgreSQL, a number":                    {postgres, `{spec: {engineVersion: 15}}`, "must be of type string"},
		"MySQL 8.4":                               {mysql, `{spec: {engineVersion: "8.4"}}`, ""},
		"MySQL, nothing":                          {mysql, `{spec: {engineVersion: ""}}`, shouldMatch},
		"FancySQL 2.3":                            {fancy, `{spec: {version: "2.3"}}`, ""},
		"FancySQL, a sentence":                    {fancy, `{spec: {version: the best}}`, shouldMatch},
		"Redis 7.2.4":                             {redis, `{spec: {engineVersion: "7.2.4"}}`, ""},
		"Redis of four parts":                     {redis, `{spec: {engineVersion: "7.2.4.1"}}`, shouldMatch},
		"Kubernetes 1.34":                         {cluster, `{spec: {clusterVersion: "1.34"}}`, ""},
		"Kubernetes 1":                            {cluster, `{spec: {clusterVersion: "1"}}`, shouldMatch},
		"a bucket":                                {bucket, `{spec: {name: our.files-1, predefinedACL: PublicRead, localPermission: ReadWrite}}`, ""},
		"a bucket of other rules":                 {bucket, `{spec: {predefinedACL: Everybody}}`, unsupported},
		"a bucket of other permissions":           {bucket, `{spec: {localPermission: Delete}}`, unsupported},
		"a bucket of no name":                     {bucket, `{spec: {name: Ours}}`, shouldMatch},
		"what is not portable is not there (K35)": {postgres, `{spec: {fancinessLevel: 10}}`, "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, strict.Create(t.Context(), claim(t, tc.gvk, env.Namespace, tc.text)), tc.refused)
		})
	}
	t.Run("where unknown fields are dropped, so is the namespace of a Secret (K38)", func(t *testing.T) {
		t.Parallel()
		have := claim(t, postgres, env.Namespace, `{spec: {writeConnectionSecretToRef: {name: a, namespace: kube-system}}}`)
		if err := env.Client.Create(t.Context(), have); err != nil {
			t.Fatal(err)
		}
		if got, found, _ := unstructured.NestedString(have.Object, "spec", "writeConnectionSecretToRef", "namespace"); found {
			t.Errorf("it is %q", got)
		}
	})
}

// What a claim asks for may change until there is something behind it.
func TestSettled(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	have := claim(t, databasev1alpha1.PostgreSQLInstanceGroupVersionKind, env.Namespace, `{spec: {engineVersion: "14"}}`)
	if err := env.Client.Create(t.Context(), have); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ name, patch, refused string }{
		{"a claim without anything may change its mind (K38)", `{engineVersion: "15", classRef: {apiVersion: a/v1, kind: B, name: c}}`, ""},
		{"and take another class (K38)", `{classRef: {apiVersion: a/v1, kind: B, name: d}}`, ""},
		{"it gets a managed resource (K38)", `{resourceRef: {apiVersion: a/v1, kind: R, name: r}}`, ""},
		{"whose UID is known later (R273)", `{resourceRef: {apiVersion: a/v1, kind: R, name: r, uid: u}}`, ""},
		{"and stays (R273)", `{resourceRef: {apiVersion: a/v1, kind: R, name: r, uid: v}}`, "spec.resourceRef is settled"},
		{"which it keeps (K38)", `{resourceRef: {apiVersion: a/v1, kind: R, name: other}}`, "spec.resourceRef is settled"},
		{"and cannot give back (K38)", `{resourceRef: null}`, "spec.resourceRef is settled"},
		{"nor change its class (K38)", `{classRef: {apiVersion: a/v1, kind: B, name: other}}`, "spec.classRef is settled"},
		{"nor what it asked for (K38)", `{engineVersion: "16"}`, "engineVersion is settled"},
		{"nor what it did not say (K38)", `{engineVersion: null}`, "engineVersion is settled"},
		{"nor everything at once (K38)", `null`, "spec cannot be removed"},
		{"its Secret may still be named (K38)", `{writeConnectionSecretToRef: {name: a}}`, ""},
	} {
		t.Run(step.name, func(t *testing.T) {
			patch, err := yaml.YAMLToJSON([]byte("{spec: " + step.patch + "}"))
			if err != nil {
				t.Fatal(err)
			}
			err = env.Client.Patch(t.Context(), have.DeepCopy(), client.RawPatch("application/merge-patch+json", patch))
			wantRefused(t, err, step.refused)
		})
	}
}
