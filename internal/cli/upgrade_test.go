// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/cli/upgrade"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// contraptions is a definition of the kind Contraption. Each version is its name, whether it is stored, and its fields.
func contraptions(versions ...string) string {
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: contraptions.upgrade.example.org}
spec:
  group: upgrade.example.org
  names: {kind: Contraption, listKind: ContraptionList, plural: contraptions, singular: contraption}
  scope: Cluster
  versions:
` + strings.Join(versions, "")
}

func contraptionVersion(name string, stored bool, fields string) string {
	return fmt.Sprintf(`  - name: %s
    served: true
    storage: %t
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, %s}}}}
`, name, stored, fields)
}

// What an upgrade would break is known before it: versions, fields, and objects that do not fit. Values are not shown.
func TestUpgradeCheck(t *testing.T) {
	t.Parallel()
	const (
		before = "properties: {size: {type: integer}, colour: {type: string}, token: {type: string}}"
		after  = "properties: {size: {type: integer, maximum: 10}, token: {type: string, maxLength: 5}}, " +
			"x-kubernetes-validations: [{rule: '!has(self.size) || self.size != 7', message: 'seven is not possible'}]"
	)
	installed := &apiextensionsv1.CustomResourceDefinition{}
	check(t, yaml.Unmarshal([]byte(contraptions(contraptionVersion("v1alpha1", true, before), contraptionVersion("v1", false, before))), installed))
	check(t, controlplanetest.Install(t.Context(), controlplanetest.Config(t), installed))
	env := controlplanetest.New(t)
	kubeconfig := writeKubeconfig(t, env)
	createContraptions(t, env)
	run := func(definition string, args ...string) (out, stderr string, code int) {
		var stdout, errors bytes.Buffer
		program := Program{Providers: []provider.Provider{{
			Name: "test", CRDs: fstest.MapFS{"contraptions.yaml": {Data: []byte(definition)}},
			AddToScheme: func(*runtime.Scheme) error { return nil },
		}}}
		code = program.Run(t.Context(), append([]string{"bowline", "upgrade", "check", "--kubeconfig", kubeconfig}, args...),
			Streams{Out: &stdout, Err: &errors})
		return stdout.String(), errors.String(), code
	}
	found := func(definition string) (all []string, code int) {
		t.Helper()
		out, stderr, code := run(definition, "-o", "json")
		var report upgrade.Report
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v: %s%s", err, out, stderr)
		}
		for _, f := range report.Findings {
			if f.Definition == installed.Name {
				all = append(all, strings.TrimSpace(fmt.Sprint(f.Severity, " ", f.Reason, " ", f.Object)))
			}
		}
		slices.Sort(all)
		return all, code
	}

	for name, tc := range map[string]struct {
		next string
		want []string
	}{
		"nothing changes": {contraptions(contraptionVersion("v1alpha1", true, before), contraptionVersion("v1", false, before)), nil},
		"a version is added": {
			contraptions(contraptionVersion("v1alpha1", false, before), contraptionVersion("v1", false, before), contraptionVersion("v2", true, before)),
			[]string{"warning StoredVersionFormer"},
		},
		"a version is removed": {contraptions(contraptionVersion("v1", true, before)), []string{"problem ServedVersionRemoved", "problem StoredVersionRemoved"}},
		"the schema of the stored version is narrower (N91)": {contraptions(contraptionVersion("v1alpha1", true, after), contraptionVersion("v1", false, after)), []string{
			"problem FieldRemoved painted", "problem ObjectRefused large", "problem ObjectRefused seven", "problem ObjectRefused token",
		}},
		"the scope changes": {
			strings.Replace(contraptions(contraptionVersion("v1alpha1", true, before), contraptionVersion("v1", false, before)), "scope: Cluster", "scope: Namespaced", 1),
			[]string{"problem ScopeChanged"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, code := found(tc.next)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			broken := slices.ContainsFunc(tc.want, func(finding string) bool { return strings.HasPrefix(finding, "problem") })
			if wantCode := map[bool]int{false: exitOK, true: exitError}[broken]; code != wantCode {
				t.Errorf("exit code %d, want %d", code, wantCode)
			}
		})
	}
	t.Run("the table has no values", func(t *testing.T) {
		out, stderr, code := run(contraptions(contraptionVersion("v1alpha1", true, after), contraptionVersion("v1", false, after)))
		if code != exitError || !strings.Contains(out, "seven is not possible") || strings.Contains(out+stderr, "secret-") {
			t.Errorf("exit code %d:\n%s%s", code, out, stderr)
		}
	})
}

// A version can be dropped once no object is stored in it, which migrate sees to.
func TestUpgradeMigrate(t *testing.T) {
	t.Parallel()
	const fields = "properties: {size: {type: integer}}"
	install := func(versions ...string) error {
		d := &apiextensionsv1.CustomResourceDefinition{}
		check(t, yaml.Unmarshal([]byte(strings.ReplaceAll(contraptions(versions...), "upgrade.example", "migrate.example")), d))
		_, err := crd.Apply(t.Context(), controlplanetest.Config(t), d)
		return err
	}
	check(t, install(contraptionVersion("v1alpha1", true, fields)))
	env := controlplanetest.New(t)
	kubeconfig := writeKubeconfig(t, env)
	key := func(name string) (*unstructured.Unstructured, client.ObjectKey) {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
		o.SetAPIVersion("migrate.example.org/v1alpha1")
		o.SetKind("Contraption")
		o.SetName(name)
		return o, client.ObjectKeyFromObject(o)
	}
	before := ""
	for _, name := range []string{"one", "two"} {
		o, _ := key(name)
		check(t, env.Client.Create(t.Context(), o))
		before = o.GetResourceVersion()
	}
	migrate := func() (done []upgrade.Migration) {
		t.Helper()
		got := runHere(t, "upgrade", "migrate", "--kubeconfig", kubeconfig, "--settle", "1s", "-o", "json")
		got.want(t, exitOK, "", "")
		check(t, json.Unmarshal([]byte(got.out), &done))
		return done
	}
	check(t, install(contraptionVersion("v1alpha1", false, fields), contraptionVersion("v1", true, fields)))
	one, _ := key("one")
	check(t, env.Client.Patch(t.Context(), one, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":2}}`)))) // stored in v1
	want := []upgrade.Migration{{Definition: "contraptions.migrate.example.org", Version: "v1", Former: []string{"v1alpha1"}, Written: 2}}
	t.Run("the rest is stored in the new version (N89)", func(t *testing.T) {
		if diff := cmp.Diff(want, migrate()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		two, at := key("two")
		check(t, env.Client.Get(t.Context(), at, two))
		if two.GetResourceVersion() == before {
			t.Error("an object that nobody has changed is still stored in the former version")
		}
		if done := migrate(); len(done) > 0 {
			t.Errorf("the second time it did %+v", done)
		}
	})
	t.Run("the former version can be dropped (N89)", func(t *testing.T) {
		patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/spec/versions/0"}]`))
		d := &apiextensionsv1.CustomResourceDefinition{}
		d.SetName(want[0].Definition)
		check(t, env.Client.Patch(t.Context(), d, patch))
	})
}

// createContraptions creates objects that fit, and that do not.
func createContraptions(t *testing.T, env *controlplanetest.Env) {
	t.Helper()
	for name, spec := range map[string]map[string]any{
		"fits":    {"size": int64(3)},
		"painted": {"colour": "secret-red"},
		"large":   {"size": int64(11)},
		"seven":   {"size": int64(7)},
		"token":   {"token": "secret-value"},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetAPIVersion("upgrade.example.org/v1")
		o.SetKind("Contraption")
		o.SetName(name)
		check(t, env.Client.Create(t.Context(), o))
	}
}
