// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// The first and the last of three definitions are installed by others.
func TestInstallCRDs(t *testing.T) {
	t.Parallel()
	gv := schema.GroupVersion{Group: strings.Trim(controlplanetest.New(t).Prefix, "-") + ".example.org", Version: "v1"}
	files := fstest.MapFS{}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range []string{"First", "Second", "Third"} {
		d := kinds.Definition(gv, kind, apiextensionsv1.ClusterScoped)
		content, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		files[d.Name+".yaml"] = &fstest.MapFile{Data: content}
		all = append(all, d)
	}
	env := controlplanetest.New(t, all[0].DeepCopy(), all[2].DeepCopy())
	t.Cleanup(func() { _ = env.Client.Delete(context.Background(), all[1]) })
	var logged []string
	log := funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})
	if err := provider.InstallCRDs(t.Context(), env.Config, log, provider.Provider{Name: "numbered", CRDs: files}); err != nil {
		t.Fatal(err)
	}
	for i, d := range all {
		t.Run(d.Spec.Names.Kind+" is installed, or skipped and logged (N34)", func(t *testing.T) {
			var got apiextensionsv1.CustomResourceDefinition
			if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(d), &got); err != nil {
				t.Fatal(err)
			}
			skipped := slices.ContainsFunc(logged, func(line string) bool { return strings.Contains(line, `"`+d.Name+`"`) })
			if ours := got.Labels[crd.LabelManagedBy] == crd.ManagedBy; ours != (i == 1) || skipped == ours {
				t.Errorf("ours: %t, skipped: %t", ours, skipped)
			}
		})
	}
}

// Only running controllers complete the deletion of a definition whose objects have finalizers, so that it must not keep them from starting.
func TestDefinitionThatIsBeingDeleted_N34(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	gv := schema.GroupVersion{Group: strings.Trim(env.Prefix, "-") + ".example.org", Version: "v1"}
	held, other := kinds.Definition(gv, "Held", apiextensionsv1.ClusterScoped), kinds.Definition(gv, "Other", apiextensionsv1.ClusterScoped)
	p := provider.Provider{Name: "held", CRDs: fstest.MapFS{}}
	for _, d := range []*apiextensionsv1.CustomResourceDefinition{held, other} {
		content, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		p.CRDs.(fstest.MapFS)[d.Name+".yaml"] = &fstest.MapFile{Data: content}
		t.Cleanup(func() { _ = env.Client.Delete(context.Background(), d) })
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(provider.InstallCRDs(t.Context(), env.Config, logr.Discard(), p))
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gv.WithKind("Held"))
	o.SetName("first")
	o.SetFinalizers([]string{"example.org/hold"})
	must(env.Client.Create(t.Context(), o))
	must(env.Client.Delete(t.Context(), held.DeepCopy()))
	must(env.Client.Delete(t.Context(), other.DeepCopy()))
	must(provider.InstallCRDs(t.Context(), env.Config, logr.Discard(), p))
	is := func(name string, deleting bool) func(context.Context) error {
		return func(ctx context.Context) error {
			got := &apiextensionsv1.CustomResourceDefinition{}
			if err := env.Client.Get(ctx, client.ObjectKey{Name: name}, got); err != nil {
				return err
			}
			if (got.DeletionTimestamp != nil) != deleting || !deleting && got.Labels[crd.LabelManagedBy] != crd.ManagedBy {
				return fmt.Errorf("%s is being deleted: %t, labels %v", name, got.DeletionTimestamp != nil, got.Labels)
			}
			return nil
		}
	}
	must(is(held.Name, true)(t.Context()))
	must(is(other.Name, false)(t.Context()))
	must(env.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	env.Eventually(t, "the definition is installed again", is(held.Name, false))
}

// Output and exit code of a program that cannot start. Package test/external runs a real one.
func TestProgram(t *testing.T) {
	good := newProvider((&clientJournal{}).factory(0))
	bad := good
	bad.Configs = nil
	missing := filepath.Join(t.TempDir(), "none")
	for name, tc := range map[string]struct {
		args      []string
		providers []provider.Provider
		code      int
		words     string
	}{
		"help (A73)":                {[]string{"-h"}, []provider.Provider{good}, 0, "metrics-listen"},
		"unknown flag (A73)":        {[]string{"--letter"}, []provider.Provider{good}, 2, "letter"},
		"argument (A73)":            {[]string{"letter"}, []provider.Provider{good}, 2, `"letter"`},
		"poll interval (R224)":      {[]string{"--poll-interval=1ms"}, []provider.Provider{good}, 2, "at least 1s"},
		"log format":                {[]string{"--log-format=xml"}, []provider.Provider{good}, 2, "text or json"},
		"concurrency":               {[]string{"--concurrency=-1"}, []provider.Provider{good}, 2, "at least 1"},
		"what to print":             {[]string{"--print=chart"}, []provider.Provider{good}, 2, "crds or rbac"},
		"definitions":               {[]string{"--print=crds"}, []provider.Provider{good}, 0, "kind: CustomResourceDefinition"},
		"rights":                    {[]string{"--print=rbac"}, []provider.Provider{good}, 0, "kind: ClusterRoleBinding"},
		"no API server (A73)":       {nil, []provider.Provider{good}, 1, "--kubeconfig FILE"},
		"no kubeconfig (A73)":       {[]string{"--kubeconfig", missing}, []provider.Provider{good}, 1, "reading kubeconfig"},
		"no provider (A73)":         {nil, nil, 1, "no provider"},
		"provider that fails (A73)": {nil, []provider.Provider{bad}, 1, "Provider.Configs has no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "") // not within a cluster
			var output bytes.Buffer
			code := provider.Run(t.Context(), append([]string{"program"}, tc.args...), &output, &output, tc.providers)
			if code != tc.code || !strings.Contains(output.String(), tc.words) {
				t.Errorf("exit code %d, output:\n%s", code, &output)
			}
		})
	}
}
