// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/crd"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

func TestApply(t *testing.T) {
	cases := map[string]struct {
		reason    string
		installed func(*apiextensionsv1.CustomResourceDefinition) // the initial state; nil for none
		change    func(*apiextensionsv1.CustomResourceDefinition) // what is applied, from the same start
		want      outcome
	}{
		"new (N34)": {
			reason: "A first start installs everything.",
			want:   outcome{Applied: true, Changed: true, Ours: true},
		},
		"unchanged (N34)": {
			reason:    "Every start of every replica applies; nothing may be written when nothing changed.",
			installed: func(*apiextensionsv1.CustomResourceDefinition) {},
			want:      outcome{Unchanged: true, Ours: true},
		},
		"changed (N34)": {
			reason:    "An upgrade reaches the server.",
			installed: func(*apiextensionsv1.CustomResourceDefinition) {},
			change:    func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.Categories = []string{"managed"} },
			want:      outcome{Applied: true, Changed: true, Ours: true},
		},
		"edited by hand (N34)": {
			reason: "What is ours returns to what this program needs.",
			installed: func(c *apiextensionsv1.CustomResourceDefinition) {
				c.Labels = map[string]string{crd.LabelManagedBy: crd.ManagedBy}
				c.Spec.Names.Categories = []string{"mine"}
			},
			want: outcome{Applied: true, Changed: true, Ours: true},
		},
		"a conversion added by hand (N34)": {
			reason: "What cannot be merged with our definition is reset, too, rather than that no program starts.",
			installed: func(c *apiextensionsv1.CustomResourceDefinition) {
				c.Labels = map[string]string{crd.LabelManagedBy: crd.ManagedBy}
				c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
					Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"},
						ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/none")}}}
			},
			want: outcome{Applied: true, Changed: true, Ours: true},
		},
		"installed by others (N34)": {
			reason:    "Installing Bowline never overwrites definitions of others.",
			installed: func(c *apiextensionsv1.CustomResourceDefinition) { c.Labels = map[string]string{"owner": "them"} },
			change:    func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.Categories = []string{"managed"} },
			want:      outcome{Skipped: "it was not installed by Bowline"},
		},
		"newer served version (N34)": {
			reason: "Dropping a served version would cut off its clients.",
			installed: func(c *apiextensionsv1.CustomResourceDefinition) {
				newer := c.Spec.Versions[0]
				newer.Name, newer.Storage = "v2", false
				c.Spec.Versions = append(c.Spec.Versions, newer)
				c.Labels = map[string]string{crd.LabelManagedBy: crd.ManagedBy}
			},
			want: outcome{Skipped: "it serves v2", Ours: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := controlplanetest.New(t)
			given := definition(env.Prefix)
			if tc.installed != nil {
				install(t, env, given.DeepCopy(), tc.installed)
			}
			wanted := given.DeepCopy()
			if tc.change != nil {
				tc.change(wanted)
			}
			got := applyOnce(t, env, wanted)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

const deletionPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Equivalent
    namespaceSelector: {}
    objectSelector: {}
    resourceRules:
    - {apiGroups: [apiextensions.k8s.io], apiVersions: ["*"], operations: [DELETE], resources: [customresourcedefinitions], scope: "*"}
  matchConditions:
  - {name: this, expression: oldObject.metadata.name == '%[1]s'}
  validations:
  - {expression: "oldObject.metadata.?annotations[?'bowline.dev/allow-deletion'].orValue('') == 'true'"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// A start waits until the policies are in force, unless there is nothing that they refuse.
func TestProtect(t *testing.T) {
	for name, permitted := range map[string]bool{
		"after a start that was interrupted (N39)":              false,
		"not where all definitions may be deleted anyway (N39)": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := controlplanetest.New(t)
			given := definition(env.Prefix)
			install(t, env, given.DeepCopy(), func(c *apiextensionsv1.CustomResourceDefinition) {
				c.Annotations = map[string]string{"bowline.dev/allow-deletion": fmt.Sprint(permitted)}
			})
			content, err := yaml.Marshal(given)
			if err != nil {
				t.Fatal(err)
			}
			files := fstest.MapFS{"policy.yaml": &fstest.MapFile{Data: fmt.Appendf(nil, deletionPolicy, given.Name)}}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if !permitted {
				if err := crd.Protect(ctx, env.Config, files); err != nil { // without definitions it does not wait
					t.Fatal(err)
				}
				disable(t, env.Client, given.Name)
			}
			files["definition.yaml"] = &fstest.MapFile{Data: content}
			if err := crd.Protect(ctx, env.Config, files); err != nil {
				t.Fatal(err)
			}
			err = env.Client.Delete(ctx, given, client.DryRunAll)
			if apierrors.IsInvalid(err) == permitted {
				t.Errorf("deleting the definition: %v", err)
			}
			t.Cleanup(func() { // install could not delete the definition
				_ = env.Client.Patch(context.Background(), given, client.RawPatch("application/merge-patch+json",
					[]byte(`{"metadata":{"annotations":{"bowline.dev/allow-deletion":"true"}}}`)))
			})
		})
	}
}

// disable edits a policy and its binding in ways that applying keeps, or refuses.
func disable(t *testing.T, c client.Client, name string) {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := errors.Join(
		c.Patch(t.Context(), policy, client.RawPatch(types.JSONPatchType,
			[]byte(`[{"op":"add","path":"/spec/matchConditions/-","value":{"name":"never","expression":"false"}}]`))),
		c.Patch(t.Context(), binding, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"validationActions":["Warn"],
			"matchResources":{"objectSelector":{"matchLabels":{"never":"x"}}}}}`))))
	if err != nil {
		t.Fatal(err)
	}
}

// A policy that has only the domain in its name is replaced, unless it is that of another API, or of somebody else.
func TestFormerPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		label  string
		lists  []string // more than the definition
		listed string   // instead of the list
		stays  bool
	}{
		"of this API (N39)":                        {label: crd.ManagedBy},
		"of another API of the domain (N39)":       {label: crd.ManagedBy, lists: []string{"others.example.org"}, stays: true},
		"of somebody else (N39)":                   {label: "them", stays: true},
		"that does not list its definitions (N39)": {label: crd.ManagedBy, listed: "oldObject.metadata.name == 'none'", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := controlplanetest.New(t)
			domain := strings.Trim(env.Prefix, "-") + ".example"
			given := kinds.Definition(schema.GroupVersion{Group: "cache." + domain, Version: "v1"}, "Widget", apiextensionsv1.ClusterScoped)
			install(t, env, given.DeepCopy(), func(*apiextensionsv1.CustomResourceDefinition) {})
			content, err := yaml.Marshal(given)
			if err != nil {
				t.Fatal(err)
			}
			lists := tc.listed
			if lists == "" {
				lists = "oldObject.metadata.name in ['" + strings.Join(append(tc.lists, given.Name), "', '") + "']"
			}
			old := strings.ReplaceAll(fmt.Sprintf(deletionPolicy, "protection."+domain), "{name: this, expression: oldObject.metadata.name == 'protection."+domain+"'}",
				`{name: definition-of-this-api, expression: "`+lists+`"}`)
			var former []client.Object
			for part := range strings.SplitSeq(old, "---") {
				o := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(part), &o.Object); err != nil {
					t.Fatal(err)
				}
				o.SetLabels(map[string]string{crd.LabelManagedBy: tc.label})
				if err := env.Client.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				former = append(former, o)
				t.Cleanup(func() { _ = env.Client.Delete(context.Background(), o) })
			}
			policy := fmt.Appendf(nil, strings.ReplaceAll(deletionPolicy, "== '%[1]s'", "== '"+given.Name+"'"), "protection.cache."+domain)
			files := fstest.MapFS{"definition.yaml": &fstest.MapFile{Data: content}, "policy.yaml": &fstest.MapFile{Data: policy}}
			t.Cleanup(func() {
				_ = env.Client.Patch(context.Background(), given, client.RawPatch("application/merge-patch+json",
					[]byte(`{"metadata":{"annotations":{"bowline.dev/allow-deletion":"true"}}}`)))
				remove(t, env, given)
			})
			for range 2 { // also where it is gone already
				if err := crd.Protect(t.Context(), env.Config, files); err != nil {
					t.Fatal(err)
				}
			}
			for _, o := range former {
				err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
				if tc.stays && err != nil || !tc.stays && !apierrors.IsNotFound(err) {
					t.Errorf("%T %s: %v", o, o.GetName(), err)
				}
			}
		})
	}
}

// TestApplyNamesRefused installs two definitions that both want one kind, and more in the same call.
func TestApplyNamesRefused(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	first := definition(env.Prefix)
	applyOnce(t, env, first)
	second := first.DeepCopy()
	second.Spec.Names.Plural = "gadgets"
	second.Name = "gadgets." + second.Spec.Group
	invalid, third := definition("in-"+env.Prefix), definition("third-"+env.Prefix)
	invalid.Name = "other"
	t.Cleanup(func() { remove(t, env, second) })
	t.Cleanup(func() { remove(t, env, third) })
	report, err := crd.Apply(t.Context(), env.Config, second, invalid, third)
	if err == nil ||
		!strings.Contains(err.Error(), "applying custom resource definition other: ") ||
		!strings.Contains(err.Error(), "its names are not accepted") || !strings.Contains(err.Error(), second.Name) {
		t.Errorf("want an error about the names at once, got %v", err)
	}
	if diff := cmp.Diff([]string{second.Name, third.Name}, report.Applied); diff != "" {
		t.Errorf("the report covers what was done in spite of the errors: -want +got:\n%s", diff)
	}
}

// An outcome is what Apply did with one definition.
type outcome struct {
	Applied, Unchanged bool   // as reported
	Skipped            string // a part of the reported reason
	Changed            bool   // the object's resourceVersion moved
	Ours               bool   // the object carries the label
}

func applyOnce(t *testing.T, env *controlplanetest.Env, wanted *apiextensionsv1.CustomResourceDefinition) outcome {
	t.Helper()
	before := read(t, env, wanted.Name)
	report, err := crd.Apply(t.Context(), env.Config, wanted)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, env, wanted) })
	after := read(t, env, wanted.Name)
	got := outcome{
		Applied:   len(report.Applied) == 1,
		Unchanged: len(report.Unchanged) == 1,
		Changed:   before.ResourceVersion != after.ResourceVersion,
		Ours:      after.Labels[crd.LabelManagedBy] == crd.ManagedBy,
	}
	if len(report.Skipped) == 1 {
		got.Skipped, _, _ = strings.Cut(report.Skipped[0].Reason, ",")
		got.Skipped, _, _ = strings.Cut(got.Skipped, " (")
	}
	if got.Applied && !established(after) {
		t.Error("Apply returned before the definition was established")
	}
	return got
}

func established(c *apiextensionsv1.CustomResourceDefinition) bool {
	return apihelpers.IsCRDConditionTrue(c, apiextensionsv1.Established)
}

// install creates the initial state: with Apply, or by hand if it has labels of its own.
func install(t *testing.T, env *controlplanetest.Env, c *apiextensionsv1.CustomResourceDefinition, change func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	change(c)
	if c.Labels == nil {
		if _, err := crd.Apply(t.Context(), env.Config, c); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := env.Client.Create(t.Context(), c, client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	// The server adds conditions for a moment, which changes the resource version.
	env.Eventually(t, c.Name+" is established", func(context.Context) error {
		if now := read(t, env, c.Name); !established(now) {
			return fmt.Errorf("conditions %v", now.Status.Conditions)
		}
		return nil
	})
}

// read returns an empty object when there is none.
func read(t *testing.T, env *controlplanetest.Env, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	c := &apiextensionsv1.CustomResourceDefinition{}
	if err := env.Client.Get(t.Context(), client.ObjectKey{Name: name}, c); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return c
}

func remove(t *testing.T, env *controlplanetest.Env, c *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	doomed := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}
	if err := env.Client.Delete(context.Background(), doomed); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// definition has a group of its own, so that tests do not interfere.
func definition(prefix string) *apiextensionsv1.CustomResourceDefinition {
	group := schema.GroupVersion{Group: strings.Trim(prefix, "-") + ".example.org", Version: "v1"}
	d := kinds.Definition(group, "Widget", apiextensionsv1.ClusterScoped)
	d.Spec.Names.ListKind, d.Spec.Names.Singular = "", "" // the server fills them in
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{
		Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte(`{ "b":1, "a" : "x" }`)}, XPreserveUnknownFields: new(true),
	}
	return d
}

const widgetYAML = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.org
spec:
  group: example.org
  names: {kind: Widget, plural: widgets}
  scope: Cluster
  versions: []
`

func TestLoad(t *testing.T) {
	gadget := strings.ReplaceAll(strings.ReplaceAll(widgetYAML, "widget", "gadget"), "Widget", "Gadget")
	cases := map[string]struct {
		files map[string]string
		want  []string // names
		err   string   // a part of it
	}{
		"SeveralDocuments": {
			files: map[string]string{"crds/a.yaml": "---\n" + widgetYAML + "---\n" + gadget, "README.md": "text"},
			want:  []string{"widgets.example.org", "gadgets.example.org"},
		},
		"OrderOfPaths": {
			files: map[string]string{"b/a.yaml": widgetYAML, "a/b.yaml": gadget},
			want:  []string{"gadgets.example.org", "widgets.example.org"},
		},
		"OnlyComments": {files: map[string]string{"a.yaml": "# nothing\n---\n" + widgetYAML}, want: []string{"widgets.example.org"}},
		"Empty":        {files: map[string]string{}},
		"UnknownField": {files: map[string]string{"a.yaml": widgetYAML + "  colour: red\n"}, err: `reading a.yaml`},
		"OtherKind":    {files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Secret\n"}, err: `is not a apiextensions.k8s.io/v1`},
		"NoName":       {files: map[string]string{"a.yaml": strings.Replace(widgetYAML, "name: widgets.example.org", "labels: {}", 1)}, err: "metadata.name is missing"},
		"Twice": {
			files: map[string]string{"a.yaml": widgetYAML, "b.yaml": widgetYAML},
			err:   "reading b.yaml: widgets.example.org is in a.yaml already",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{}
			for path, content := range tc.files {
				files[path] = &fstest.MapFile{Data: []byte(content)}
			}
			crds, err := crd.Load(files)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("want an error with %q, got %v", tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range crds {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A provider installs the definitions that it embeds, and logs those that it skips.
func Example() {
	install := func(ctx context.Context, cfg *rest.Config, files embed.FS) error {
		crds, err := crd.Load(files)
		if err != nil {
			return err
		}
		report, err := crd.Apply(ctx, cfg, crds...)
		fmt.Println(report)
		return err
	}
	_ = install
}
