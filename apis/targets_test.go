// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/apis"
	"github.com/bowline-dev/bowline/apis/crds"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func targetDefinition(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crd.Load(crds.FS)
	i := slices.IndexFunc(all, func(d *apiextensionsv1.CustomResourceDefinition) bool {
		return d.Name == "kubernetestargets.workload.crossplane.io"
	})
	if err != nil || i < 0 {
		t.Fatalf("there is no definition: %v", err)
	}
	return all[i]
}

func TestTarget(t *testing.T) {
	t.Parallel()
	d := targetDefinition(t)
	version := d.Spec.Versions[0]
	t.Run("the core has its kind (K70)", func(t *testing.T) {
		want := schema.GroupVersionKind{Group: "workload.crossplane.io", Version: "v1alpha1", Kind: "KubernetesTarget"}
		s := runtime.NewScheme()
		if err := apis.AddToScheme(s); err != nil || !s.Recognizes(want) || workloadv1alpha1.KubernetesTargetGroupVersionKind != want {
			t.Errorf("got %s, known: %t, %v", workloadv1alpha1.KubernetesTargetGroupVersionKind, s.Recognizes(want), err)
		}
	})
	t.Run("namespaced, and listed with targets (K71)", func(t *testing.T) {
		if d.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("got %s", d.Spec.Scope)
		}
		if diff := cmp.Diff([]string{"target", "targets"}, d.Spec.Names.Categories); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("its managed resource can be asked for (K72, R313)", func(t *testing.T) {
		kind := schema.GroupVersionKind{Group: "a", Version: "v1", Kind: "R"}
		target := &workloadv1alpha1.KubernetesTarget{}
		target.SetResourceReference(&corev1.ObjectReference{APIVersion: "a/v1", Kind: "R", Name: "r"})
		of := resource.HasManagedResourceReferenceKind(resource.ManagedKind(kind))
		other := resource.HasManagedResourceReferenceKind(resource.ManagedKind{Group: "b", Version: "v1", Kind: "R"})
		if !of(target) || other(target) || of(&workloadv1alpha1.KubernetesTarget{}) {
			t.Errorf("of its kind: %t, of another: %t, without: %t", of(target), other(target), of(&workloadv1alpha1.KubernetesTarget{}))
		}
	})
	t.Run("its role, lists of it and its status (K74, A30)", func(t *testing.T) {
		var _ resource.Target = &workloadv1alpha1.KubernetesTarget{}
		list := &workloadv1alpha1.KubernetesTargetList{Items: make([]workloadv1alpha1.KubernetesTarget, 2)}
		var role resource.TargetList = list
		role.GetItems()[1].SetName("second")
		conditions := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]
		if list.Items[1].Name != "second" || version.Subresources == nil || version.Subresources.Status == nil || conditions.Type != "array" {
			t.Errorf("second item %q, subresources %+v, conditions are a %s", list.Items[1].Name, version.Subresources, conditions.Type)
		}
	})
	t.Run("columns (T22)", func(t *testing.T) {
		var got []string
		for _, c := range version.AdditionalPrinterColumns {
			got = append(got, c.Name+" "+c.JSONPath)
		}
		want := []string{"RESOURCE .spec.clusterRef.name", "SECRET .spec.connectionSecretRef.name",
			"READY .status.conditions[?(@.type=='Ready')].status", "AGE .metadata.creationTimestamp"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestTargetAdmission(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	strict := client.WithFieldValidation(env.Client, metav1.FieldValidationStrict)
	kind := workloadv1alpha1.KubernetesTargetGroupVersionKind
	const ref = `clusterRef: {apiVersion: a/v1, kind: R, name: r}`
	const unnamed = "a managed resource is named by apiVersion, kind and name"
	for name, tc := range map[string]struct{ text, refused string }{
		"a managed resource (K72)":              {`{spec: {` + ref + `}}`, ""},
		"none (K72)":                            {`{spec: {}}`, "clusterRef"},
		"nothing at all (K72)":                  {`{}`, "spec"},
		"one without a name (K72)":              {`{spec: {clusterRef: {apiVersion: a/v1, kind: R}}}`, unnamed},
		"one of an empty name (K72)":            {`{spec: {clusterRef: {apiVersion: a/v1, kind: R, name: ""}}}`, unnamed},
		"one of no kind (K72)":                  {`{spec: {clusterRef: {name: r}}}`, unnamed},
		"a Secret of its namespace (K73)":       {`{spec: {` + ref + `, connectionSecretRef: {name: s}}}`, ""},
		"no Secret of another namespace (K73)":  {`{spec: {` + ref + `, connectionSecretRef: {name: s, namespace: n}}}`, "unknown field"},
		"no Secret of an impossible name (K73)": {`{spec: {` + ref + `, connectionSecretRef: {name: S_}}}`, "should match"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, strict.Create(t.Context(), claim(t, kind, env.Namespace, tc.text)), tc.refused)
		})
	}
	have := claim(t, kind, env.Namespace, `{spec: {`+ref+`}}`)
	if err := env.Client.Create(t.Context(), have); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ name, patch, refused string }{
		{"a target keeps its managed resource (K72)", `{clusterRef: {name: other}}`, "spec.clusterRef is settled"},
		{"and its kind (K72)", `{clusterRef: {kind: Other}}`, "spec.clusterRef is settled"},
		{"whose UID may be told later (K72)", `{clusterRef: {uid: u}}`, ""},
		{"and stays (K72)", `{clusterRef: {uid: v}}`, "spec.clusterRef is settled"},
		{"it cannot be without (K72)", `{clusterRef: null}`, "clusterRef"},
		{"its Secret may be named (K73)", `{connectionSecretRef: {name: s}}`, ""},
		{"and named anew (K73)", `{connectionSecretRef: {name: t}}`, ""},
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
