// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
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
	versions := map[string]string{}
	for _, name := range []string{"one", "two"} {
		o, _ := key(name)
		check(t, env.Client.Create(t.Context(), o))
		versions[name] = o.GetResourceVersion()
	}
	migrate := func() (done []upgrade.Migration) {
		t.Helper()
		got := runHere(t, "upgrade", "migrate", "--kubeconfig", kubeconfig, "-o", "json")
		got.want(t, exitOK, "", "")
		check(t, json.Unmarshal([]byte(got.out), &done))
		return done
	}
	check(t, install(contraptionVersion("v1alpha1", false, fields), contraptionVersion("v1", true, fields)))
	one, _ := key("one")
	check(t, env.Client.Patch(t.Context(), one, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":2}}`)))) // stored in v1
	versions["one"] = one.GetResourceVersion()
	want := []upgrade.Migration{{Definition: "contraptions.migrate.example.org", Version: "v1", Former: []string{"v1alpha1"}, Written: 2}}
	t.Run("the rest is stored in the new version (N89)", func(t *testing.T) {
		if diff := cmp.Diff(want, migrate()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		for name, rewritten := range map[string]bool{"one": false, "two": true} {
			o, at := key(name)
			check(t, env.Client.Get(t.Context(), at, o))
			if (o.GetResourceVersion() != versions[name]) != rewritten {
				t.Errorf("%s: resource version %s before and %s after, want a change: %t", name, versions[name], o.GetResourceVersion(), rewritten)
			}
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

// What the controllers of the new version would do outside is known before it, and nothing is done.
func TestUpgradeCheckOfExternalResources(t *testing.T) {
	t.Parallel()
	check(t, controlplanetest.Install(t.Context(), controlplanetest.Config(t), thing.CRD()))
	env := controlplanetest.New(t)
	check(t, thing.AddToScheme(env.Scheme))
	system := thing.NewSystem()
	names := createThings(t, env, system)
	kubeconfig := writeKubeconfig(t, env)
	run := func(zone string, args ...string) (found map[string]string, report upgrade.Report, code int) {
		t.Helper()
		next := thing.CRD()
		if zone != "" {
			setDefault(next, zone, "spec", "forProvider", "zone")
		}
		definition, err := yaml.Marshal(next)
		check(t, err)
		program := Program{Providers: []provider.Provider{{
			Name: "things", CRDs: fstest.MapFS{"things.yaml": {Data: definition}}, AddToScheme: thing.AddToScheme,
			Kinds: []provider.Kind{{Object: &thing.Thing{}, Options: []managed.ReconcilerOption{managed.WithTypedExternalConnecter[*thing.Thing](system)}}},
		}}}
		var stdout, stderr bytes.Buffer
		code = program.Run(t.Context(), append([]string{"bowline", "upgrade", "check", "--kubeconfig", kubeconfig, "-o", "json"}, args...),
			Streams{Out: &stdout, Err: &stderr})
		if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
			t.Fatalf("%v: %s%s", err, &stdout, &stderr)
		}
		found = map[string]string{}
		for _, f := range report.Findings {
			if what := names[f.Object]; what != "" {
				found[what] = fmt.Sprint(f.Severity, " ", f.Reason)
			}
		}
		return found, report, code
	}
	const changed, unknown = "warning ExternalResourceChanged", "warning ExternalResourceUnknown"
	for _, tc := range []struct {
		name, zone string
		system     func(*thing.System)
		args       []string
		want       map[string]string
	}{
		{name: "the same version", want: map[string]string{"lost": changed, "taken": unknown}},
		{name: "a new default (N91)", zone: "b", want: map[string]string{"plain": changed, "lost": changed, "taken": unknown}},
		{name: "only definitions", zone: "b", args: []string{"--external=false"}, want: map[string]string{}},
		{name: "a system that fails", system: func(s *thing.System) { s.Failed = errors.New("out of disk") },
			want: map[string]string{"plain": "warning ExternalResourceDiffers", "zoned": "warning ExternalResourceDiffers", "lost": changed, "taken": unknown}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.system != nil {
				system.Do(tc.system)
			}
			found, report, code := run(tc.zone, tc.args...)
			if diff := cmp.Diff(tc.want, found); diff != "" || code != exitOK {
				t.Errorf("exit code %d, findings (-want +got):\n%s%+v", code, diff, report)
			}
		})
	}
	t.Run("a system that does not answer", func(t *testing.T) {
		system.Do(func(s *thing.System) {
			s.Fault = func(string) (refuse, lose error) {
				return failure.With(failure.ExternalSystemUnreachable, errors.New("no route to host")), nil
			}
		})
		_, report, code := run("b")
		about := slices.DeleteFunc(report.Findings, func(f upgrade.Finding) bool { return f.Definition != thing.CRD().Name })
		if len(about) != 1 || about[0].Reason != upgrade.ExternalResourceUnknown || code != exitOK {
			t.Errorf("exit code %d, want one finding: %+v", code, about)
		}
	})
	for _, call := range system.TakeCalls() {
		if call != "Connect" && call != "Observe" {
			t.Errorf("it called %s", call)
		}
	}
}

// createThings creates objects whose external resources fit, and do not. It returns what they are by name.
func createThings(t *testing.T, env *controlplanetest.Env, system *thing.System) (names map[string]string) {
	t.Helper()
	names = map[string]string{}
	for what, outside := range map[string]*thing.Resource{
		"plain": {Size: 1}, "zoned": {Size: 1, Zone: "b"}, "lost": nil, "taken": {Size: 1, Owner: "another"}, "paused": {Size: 2},
	} {
		mg := &thing.Thing{}
		mg.SetName(env.Prefix + what)
		mg.Spec.ForProvider.Size = 1
		mg.SetAnnotations(map[string]string{
			meta.AnnotationKeyExternalName: mg.Name, meta.AnnotationKeyReconciliationPaused: strconv.FormatBool(what == "paused"),
		})
		check(t, env.Client.Create(t.Context(), mg))
		t.Cleanup(func() { check(t, env.Client.Delete(context.Background(), mg)) })
		names[mg.Name] = what
		if outside != nil {
			if outside.Owner == "" {
				outside.Owner = mg.UID
			}
			system.Resources[mg.Name] = *outside
		}
	}
	return names
}

// setDefault gives a field of all versions a default.
func setDefault(d *apiextensionsv1.CustomResourceDefinition, value string, path ...string) {
	for i := range d.Spec.Versions {
		set(d.Spec.Versions[i].Schema.OpenAPIV3Schema, value, path)
	}
}

func set(s *apiextensionsv1.JSONSchemaProps, value string, path []string) {
	if len(path) == 0 {
		s.Default = &apiextensionsv1.JSON{Raw: []byte(strconv.Quote(value))}
		return
	}
	field := s.Properties[path[0]]
	set(&field, value, path[1:])
	s.Properties[path[0]] = field
}
