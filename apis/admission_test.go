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
		"K32 nothing at all":                    {postgres, `{}`, ""},
		"K32 an empty spec":                     {fancy, `{spec: {}}`, ""},
		"K38 by label":                          {redis, `{spec: {classSelector: {matchLabels: {size: small}}}}`, ""},
		"K38 a Secret of its namespace":         {postgres, `{spec: {writeConnectionSecretToRef: {name: a}}}`, ""},
		"K38 no Secret of another namespace":    {postgres, `{spec: {writeConnectionSecretToRef: {name: a, namespace: kube-system}}}`, "unknown field"},
		"K38 no Secret without a name":          {postgres, `{spec: {writeConnectionSecretToRef: {}}}`, "name"},
		"K38 no Secret of an impossible name":   {postgres, `{spec: {writeConnectionSecretToRef: {name: Bad_Name}}}`, shouldMatch},
		"K38 a Secret of any possible name":     {postgres, `{spec: {writeConnectionSecretToRef: {name: my-db.prod}}}`, ""},
		"K38 a class by kind and name":          {fancy, `{spec: {classRef: {apiVersion: a/v1, kind: B, name: c}}}`, ""},
		"K38 no class without its kind":         {fancy, `{spec: {classRef: {name: c}}}`, "a class is named by apiVersion, kind and name"},
		"K38 no managed resource without it":    {fancy, `{spec: {resourceRef: {name: c}}}`, "a managed resource is named by apiVersion, kind and name"},
		"9.1 PostgreSQL 15":                     {postgres, `{spec: {engineVersion: "15"}}`, ""},
		"9.1 PostgreSQL 9.6":                    {postgres, `{spec: {engineVersion: "9.6"}}`, ""},
		"9.1 PostgreSQL, latest":                {postgres, `{spec: {engineVersion: latest}}`, shouldMatch},
		"9.1 PostgreSQL, a number":              {postgres, `{spec: {engineVersion: 15}}`, "must be of type string"},
		"9.1 MySQL 8.4":                         {mysql, `{spec: {engineVersion: "8.4"}}`, ""},
		"9.1 MySQL, nothing":                    {mysql, `{spec: {engineVersion: ""}}`, shouldMatch},
		"9.1 FancySQL 2.3":                      {fancy, `{spec: {version: "2.3"}}`, ""},
		"9.1 FancySQL, a sentence":              {fancy, `{spec: {version: the best}}`, shouldMatch},
		"9.1 Redis 7.2.4":                       {redis, `{spec: {engineVersion: "7.2.4"}}`, ""},
		"9.1 Redis of four parts":               {redis, `{spec: {engineVersion: "7.2.4.1"}}`, shouldMatch},
		"9.1 Kubernetes 1.34":                   {cluster, `{spec: {clusterVersion: "1.34"}}`, ""},
		"9.1 Kubernetes 1":                      {cluster, `{spec: {clusterVersion: "1"}}`, shouldMatch},
		"9.1 a bucket":                          {bucket, `{spec: {name: our.files-1, predefinedACL: PublicRead, localPermission: ReadWrite}}`, ""},
		"9.1 a bucket of other rules":           {bucket, `{spec: {predefinedACL: Everybody}}`, unsupported},
		"9.1 a bucket of other permissions":     {bucket, `{spec: {localPermission: Delete}}`, unsupported},
		"9.1 a bucket of no name":               {bucket, `{spec: {name: Ours}}`, shouldMatch},
		"K35 what is not portable is not there": {postgres, `{spec: {fancinessLevel: 10}}`, "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, strict.Create(t.Context(), claim(t, tc.gvk, env.Namespace, tc.text)), tc.refused)
		})
	}
	t.Run("K38 where unknown fields are dropped, so is the namespace of a Secret", func(t *testing.T) {
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
		{"K38 a claim without anything may change its mind", `{engineVersion: "15", classRef: {apiVersion: a/v1, kind: B, name: c}}`, ""},
		{"K38 and take another class", `{classRef: {apiVersion: a/v1, kind: B, name: d}}`, ""},
		{"K38 it gets a managed resource", `{resourceRef: {apiVersion: a/v1, kind: R, name: r}}`, ""},
		{"R273 whose UID is known later", `{resourceRef: {apiVersion: a/v1, kind: R, name: r, uid: u}}`, ""},
		{"R273 and stays", `{resourceRef: {apiVersion: a/v1, kind: R, name: r, uid: v}}`, "spec.resourceRef is settled"},
		{"K38 which it keeps", `{resourceRef: {apiVersion: a/v1, kind: R, name: other}}`, "spec.resourceRef is settled"},
		{"K38 and cannot give back", `{resourceRef: null}`, "spec.resourceRef is settled"},
		{"K38 nor change its class", `{classRef: {apiVersion: a/v1, kind: B, name: other}}`, "spec.classRef is settled"},
		{"K38 nor what it asked for", `{engineVersion: "16"}`, "engineVersion is settled"},
		{"K38 nor what it did not say", `{engineVersion: null}`, "engineVersion is settled"},
		{"K38 nor everything at once", `null`, "spec cannot be removed"},
		{"K38 its Secret may still be named", `{writeConnectionSecretToRef: {name: a}}`, ""},
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
