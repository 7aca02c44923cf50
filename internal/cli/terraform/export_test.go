// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/cli/terraform/configuration"
	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// exported exports objects that are not on a server.
func exported(t *testing.T, objects []*unstructured.Unstructured) result {
	t.Helper()
	providers := source.Flag{Paths: map[string]string{"shoal": mirror.Program(t, "shoal"), "reef": mirror.Program(t, "reef")}}
	sources, err := providers.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.CloseAll(sources)
	var out, stderr bytes.Buffer
	failed := configuration.Print(&out, &stderr, objects, sources)
	if _, diagnostics := hclsyntax.ParseConfig(out.Bytes(), "main.tf", hcl.InitialPos); diagnostics.HasErrors() {
		t.Errorf("%v in\n%s", diagnostics, out.String())
	}
	return result{out.String(), stderr.String(), failed}
}

func TestWhatIsImportedCanBeExported(t *testing.T) {
	t.Parallel()
	imported := run(t, "", append([]string{"import", harbour}, providers(t)...)...)
	managed := slices.DeleteFunc(objects(t, imported.out), func(o *unstructured.Unstructured) bool { return o.GetKind() == "Secret" })
	got := exported(t, managed)
	if got.failed != nil || got.err != "" {
		t.Fatal(got.all())
	}
	golden(t, "export.tf", got.out)
}

func TestExport(t *testing.T) {
	t.Parallel()
	got := exported(t, objects(t, `
apiVersion: shoal.tf.m.bowline.dev/v1alpha1
kind: Berth
metadata: {name: 1st.berth, namespace: shop, annotations: {crossplane.io/external-name: 'a"${b}'}}
spec:
  forProvider:
    name: "quote \" backslash \\ ${var.x} %{if} $${x}\nnext line"
    tags: {"my key/${x}": '%{y}', plain: v}
    passwordSecretRef: {name: s, key: k}
  initProvider: {name: other, size: 2, tags: {plain: other, initial: i}}
  providerConfigRef: {name: my.config}
---
apiVersion: shoal.tf.m.bowline.dev/v1alpha1
kind: Berth
metadata: {name: 1st.berth, namespace: office, annotations: {crossplane.io/external-name: b}}
spec: {forProvider: {name: no name, unknown: x}}
---
apiVersion: shoal.tf.m.bowline.dev/v1alpha1
kind: Anchor
metadata: {name: a, namespace: shop, annotations: {crossplane.io/external-name: a}}
spec:
  forProvider: {berthId: literal}
  references: [{field: berthId, kind: Berth, name: gone}, {field: weight, kind: Berth, name: 1st.berth, value: spec.none}]
---
apiVersion: shoal.tf.m.bowline.dev/v1alpha1
kind: Chart
metadata: {name: c, namespace: shop, annotations: {crossplane.io/external-name: c}}
spec:
  forProvider:
    title: literal
    languages: [en, ""]
    layer: [{tokenSecretRef: {name: s, key: k}, point: [{x: 1, "y": 2}]}]
  references:
  - {field: title, kind: Berth, name: 1st.berth, value: status.atProvider.readyAt}
  - {field: 'languages[1]', kind: Berth, name: 1st.berth}
  - {field: 'layer[0].name', kind: Berth, name: 1st.berth}
---
apiVersion: reef.tf.bowline.dev/v1alpha1
kind: Berth
metadata: {name: r, annotations: {crossplane.io/external-name: r}}
spec:
  forProvider:
    name: r
    labels: [{key: k, value: v}]
    owners: [{name: o}]
    ports: {"http/1": {number: 80}}
    passwordSecretRef: {name: s, namespace: default, key: k}
`))
	if got.failed != nil {
		t.Fatal(got.failed)
	}
	golden(t, "objects.tf", got.out)
	file, _ := hclsyntax.ParseConfig([]byte(got.out), "main.tf", hcl.InitialPos)
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		if slices.Equal(block.Labels, []string{"shoal_berth", "shop_1st_berth"}) {
			name, _ := block.Body.Attributes["name"].Expr.Value(nil)
			if want := "quote \" backslash \\ ${var.x} %{if} $${x}\nnext line"; !name.RawEquals(cty.StringVal(want)) {
				t.Errorf("%#v, want %q", name, want)
			}
		}
	}
	golden(t, "objects.txt", got.err)
}

func TestExportTellsConfigurationsApart(t *testing.T) {
	t.Parallel()
	var documents []string
	for i, of := range []struct{ group, namespace, ref string }{
		{"shoal.tf", "", "{name: default}"},
		{"shoal.tf", "", "{name: east.sea}"},
		{"shoal.tf.m", "shop", "{}"},
		{"shoal.tf.m", "shop", "{kind: ClusterProviderConfig, name: default}"},
		{"shoal.tf.m", "shop", "{kind: ProviderConfig, name: default}"},
		{"shoal.tf.m", "office", "{kind: ProviderConfig, name: default}"},
		{"shoal.tf.m", "office", "{kind: ProviderConfig, name: only}"},
		{"shoal.tf.m", "east", "{kind: ProviderConfig, name: sea}"},
		{"shoal.tf.m", "west", "{kind: ProviderConfig, name: sea}"},
		{"reef.tf.m", "shop", "{kind: ProviderConfig, name: default}"},
	} {
		metadata := ""
		if of.namespace != "" {
			metadata = "namespace: " + of.namespace + ", "
		}
		documents = append(documents, fmt.Sprintf(`apiVersion: %s.bowline.dev/v1alpha1
kind: Berth
metadata: {%sname: b%d, annotations: {crossplane.io/external-name: b}}
spec: {forProvider: {name: b}, providerConfigRef: %s}
`, of.group, metadata, i, of.ref))
	}
	got := exported(t, objects(t, strings.Join(documents, "---\n")))
	if got.failed != nil || got.err != "" {
		t.Fatal(got.all())
	}
	golden(t, "aliases.tf", got.out)
}

// What Terraform would create once more is left out, and references to it are values.
func TestExportLeavesOutWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	const pending, later = "crossplane.io/external-create-pending: '2026-01-02T03:04:05Z'", "'2026-01-02T03:04:06Z'"
	const deleted = `}, deletionTimestamp: "2026-01-02T03:04:05Z", labels: {a: b`
	for name, tc := range map[string]struct{ annotations, reason string }{
		"known":                  {"crossplane.io/external-name: berth-1", ""},
		"being deleted":          {"crossplane.io/external-name: berth-1" + deleted, "it is being deleted with its external resource"},
		"being deleted alone":    {"crossplane.io/external-name: berth-1, bowline.dev/orphan-on-delete: 'true'" + deleted, ""},
		"created":                {"crossplane.io/external-name: berth-1, " + pending + ", crossplane.io/external-create-succeeded: " + later, ""},
		"not created":            {"", "it has no external name yet"},
		"its creation failed":    {pending + ", crossplane.io/external-create-failed: " + later, "it has no external name yet"},
		"in creation":            {pending, "its creation has not ended"},
		"in creation, and named": {"crossplane.io/external-name: berth-1, " + pending, "its creation has not ended"},
		"without an id":          {"crossplane.io/external-name: 1c2d", "its external name is its UID"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := exported(t, objects(t, fmt.Sprintf(`
apiVersion: shoal.tf.bowline.dev/v1alpha1
kind: Berth
metadata: {name: b, uid: 1c2d, annotations: {%s}}
spec: {forProvider: {name: b, passwordSecretRef: {name: s, key: k}}}
---
apiVersion: shoal.tf.bowline.dev/v1alpha1
kind: Anchor
metadata: {name: a, annotations: {crossplane.io/external-name: a}}
spec: {forProvider: {berthId: literal}, references: [{field: berthId, kind: Berth, name: b}]}
`, tc.annotations)))
			left := tc.reason != ""
			value := map[bool]string{true: `berth_id = "literal"`, false: "berth_id = shoal_berth.b.id"}[left]
			if strings.Contains(got.out, `"shoal_berth"`) == left || strings.Contains(got.out, "variable") == left || !strings.Contains(got.out, value) {
				t.Error(got.out)
			}
			if !strings.Contains(got.err, tc.reason) || strings.Contains(got.err, "berth/b: it is left out") != left {
				t.Error(got.err)
			}
			if got.failed != nil {
				t.Error(got.failed)
			}
		})
	}
}

func TestExportReadsTheServer(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	name, s := install(t, env, "shoal")
	for _, namespace := range []string{"", env.Namespace} {
		text := fill(s.Manifest("shoal_anchor", namespace), env.Namespace, false)
		o := objects(t, text)[0]
		o.SetName(env.Prefix + "a")
		meta.SetExternalName(o, "a")
		if err := env.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	provider := []string{"--provider", name + "=" + mirror.Program(t, "shoal")}
	kind := s.Resource("shoal_anchor", true)
	for args, want := range map[string]int{"--all": 2, "--all -n " + env.Namespace: 1,
		kind + "/" + env.Prefix + "a": 1} {
		got := runOn(t, env, "", append(append([]string{"export"}, strings.Fields(args)...), provider...)...)
		if got.failed != nil || strings.Count(got.out, `resource "shoal_anchor"`) != want {
			t.Errorf("%s: want %d resources: %s", args, want, got.all())
		}
	}
	nameless := objects(t, fill(s.Manifest("shoal_anchor", env.Namespace), env.Namespace, false))[0]
	nameless.SetName(env.Prefix + "b")
	if err := env.Client.Create(t.Context(), nameless); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		kind + "/" + env.Prefix + "b --provider " + provider[1]: "no object can be exported",
		"":               "name objects as KIND/NAME",
		"--all anchor/a": "name objects as KIND/NAME",
		"--all":          "name the provider with",
		"ns/" + env.Namespace + " --provider " + provider[1]:   "no provider that is given has kind Namespace",
		"--all --provider other=" + mirror.Program(t, "shoal"): "there are no objects",
	} {
		got := runOn(t, env, "", append([]string{"export"}, strings.Fields(args)...)...)
		if got.failed == nil || !strings.Contains(got.failed.Error(), want) {
			t.Errorf("%s: %v, want %q", args, got.failed, want)
		}
	}
}
