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
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
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

// wantRefused wants an error with some words, or none.
func wantRefused(t *testing.T, err error, words string) {
	t.Helper()
	if (err == nil) != (words == "") || err != nil && !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want %q", err, words)
	}
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	postgres, mysql := databasev1alpha1.PostgreSQLInstanceGroupVersionKind, databasev1alpha1.MySQLInstanceGroupVersionKind
	fancy, redis := databasev1alpha1.FancySQLInstanceGroupVersionKind, cachev1alpha1.RedisClusterGroupVersionKind
	bucket, cluster := storagev1alpha1.BucketGroupVersionKind, computev1alpha1.KubernetesClusterGroupVersionKind
	target := workloadv1alpha1.KubernetesTargetGroupVersionKind
	const shouldMatch, unsupported = "should match", "Unsupported value"
	const ref, unnamed = `clusterRef: {apiVersion: a/v1, kind: R, name: r}`, "a managed resource is named by apiVersion, kind and name"
	env := controlplanetest.New(t)
	strict := client.WithFieldValidation(env.Client, metav1.FieldValidationStrict)
	for name, tc := range map[string]struct {
		gvk           schema.GroupVersionKind
		text, refused string
	}{
		"nothing at all (K32)":                    {postgres, `{}`, ""},
		"an empty spec (K32)":                     {fancy, `{spec: {}}`, ""},
		"by label (K38)":                          {redis, `{spec: {classSelector: {matchLabels: {size: small}}}}`, ""},
		"by any class at all (R246)":              {redis, `{spec: {classSelector: {}}}`, ""},
		"by an expression (R246)":                 {redis, `{spec: {classSelector: {matchExpressions: [{key: a, operator: NotIn, values: [b]}]}}}`, ""},
		"by an unknown operator (R246)":           {redis, `{spec: {classSelector: {matchExpressions: [{key: a, operator: Like, values: [b]}]}}}`, unsupported},
		"by a value that is missing (R246)":       {redis, `{spec: {classSelector: {matchExpressions: [{key: a, operator: In}]}}}`, "In and NotIn need values"},
		"by a value too many (R246)":              {redis, `{spec: {classSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}}`, "DoesNotExist have none"},
		"a name of 63 bytes":                      {postgres, `{metadata: {name: ` + strings.Repeat("a", 63) + `}}`, ""},
		"a name of 64 bytes":                      {postgres, `{metadata: {name: ` + strings.Repeat("a", 64) + `}}`, "metadata.name: Too long: may not be more than 63 bytes"},
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
		"a managed resource (K72)":                {target, `{spec: {` + ref + `}}`, ""},
		"none (K72)":                              {target, `{spec: {}}`, "clusterRef"},
		"nothing at all (K72)":                    {target, `{}`, "spec"},
		"one without a name (K72)":                {target, `{spec: {clusterRef: {apiVersion: a/v1, kind: R}}}`, unnamed},
		"one of an empty name (K72)":              {target, `{spec: {clusterRef: {apiVersion: a/v1, kind: R, name: ""}}}`, unnamed},
		"one of no kind (K72)":                    {target, `{spec: {clusterRef: {name: r}}}`, unnamed},
		"a Secret of its namespace (K73)":         {target, `{spec: {` + ref + `, connectionSecretRef: {name: s}}}`, ""},
		"no Secret of another namespace (K73)":    {target, `{spec: {` + ref + `, connectionSecretRef: {name: s, namespace: n}}}`, "unknown field"},
		"no Secret of an impossible name (K73)":   {target, `{spec: {` + ref + `, connectionSecretRef: {name: S_}}}`, "should match"},
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

// A step changes the spec of an object that exists; refused is a part of the message, empty for none.
type step struct{ name, patch, refused string }

// change creates an object and applies steps, each of which builds on the others.
func change(t *testing.T, gvk schema.GroupVersionKind, text string, steps ...step) {
	t.Helper()
	t.Parallel()
	env := controlplanetest.New(t)
	have := claim(t, gvk, env.Namespace, text)
	if err := env.Client.Create(t.Context(), have); err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			patch, err := yaml.YAMLToJSON([]byte("{spec: " + s.patch + "}"))
			if err != nil {
				t.Fatal(err)
			}
			err = env.Client.Patch(t.Context(), have.DeepCopy(), client.RawPatch("application/merge-patch+json", patch))
			wantRefused(t, err, s.refused)
		})
	}
}

// What a claim asks for may change until there is something behind it.
func TestSettledClaim(t *testing.T) {
	change(t, databasev1alpha1.PostgreSQLInstanceGroupVersionKind, `{spec: {engineVersion: "14"}}`,
		step{"a claim without anything may change its mind (K38)", `{engineVersion: "15", classRef: {apiVersion: a/v1, kind: B, name: c}}`, ""},
		step{"and take another class (K38)", `{classRef: {apiVersion: a/v1, kind: B, name: d}}`, ""},
		step{"it gets a managed resource (K38)", `{resourceRef: {apiVersion: a/v1, kind: R, name: r}}`, ""},
		step{"whose UID is known later (R273)", `{resourceRef: {apiVersion: a/v1, kind: R, name: r, uid: u}}`, ""},
		step{"and stays (R273)", `{resourceRef: {apiVersion: a/v1, kind: R, name: r, uid: v}}`, "spec.resourceRef is settled"},
		step{"which it keeps (K38)", `{resourceRef: {apiVersion: a/v1, kind: R, name: other}}`, "spec.resourceRef is settled"},
		step{"and cannot give back (K38)", `{resourceRef: null}`, "spec.resourceRef is settled"},
		step{"nor change its class (K38)", `{classRef: {apiVersion: a/v1, kind: B, name: other}}`, "spec.classRef is settled"},
		step{"nor what it asked for (K38)", `{engineVersion: "16"}`, "engineVersion is settled"},
		step{"nor what it did not set (K38)", `{engineVersion: null}`, "engineVersion is settled"},
		step{"nor everything at once (K38)", `null`, "spec cannot be removed"},
		step{"its Secret may still be named (K38)", `{writeConnectionSecretToRef: {name: a}}`, ""},
	)
}

func TestSettledTarget(t *testing.T) {
	change(t, workloadv1alpha1.KubernetesTargetGroupVersionKind, `{spec: {clusterRef: {apiVersion: a/v1, kind: R, name: r}}}`,
		step{"a target keeps its managed resource (K72)", `{clusterRef: {name: other}}`, "spec.clusterRef is settled"},
		step{"and its kind (K72)", `{clusterRef: {kind: Other}}`, "spec.clusterRef is settled"},
		step{"whose UID may be set later (K72)", `{clusterRef: {uid: u}}`, ""},
		step{"and stays (K72)", `{clusterRef: {uid: v}}`, "spec.clusterRef is settled"},
		step{"it cannot be without (K72)", `{clusterRef: null}`, "clusterRef"},
		step{"its Secret may be named (K73)", `{connectionSecretRef: {name: s}}`, ""},
		step{"and named anew (K73)", `{connectionSecretRef: {name: t}}`, ""},
	)
}
