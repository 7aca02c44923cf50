// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kube "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/schema/schematest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

func definitions(t *testing.T, provider, resourceType string, b *schema.Block) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	both, err := kinds.Definitions(provider, resourceType, &schema.Schema{Block: b})
	if err != nil {
		t.Fatal(err)
	}
	return both
}

// install installs the definitions of a provider that only this test has.
func install(t *testing.T, env *controlplanetest.Env, definitions []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	env.Uninstall(t, providerOf(env))
	if err := controlplanetest.Install(t.Context(), env.Config, definitions...); err != nil {
		t.Fatal(err)
	}
}

func providerOf(env *controlplanetest.Env) string { return strings.ReplaceAll(env.Prefix, "-", "") }

func objectOf(env *controlplanetest.Env, d *apiextensionsv1.CustomResourceDefinition, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kube.GroupVersionKind{Group: d.Spec.Group, Version: kinds.Version, Kind: d.Spec.Names.Kind})
	o.SetName("o")
	if d.Spec.Scope == apiextensionsv1.NamespaceScoped {
		o.SetNamespace(env.Namespace)
	}
	return o
}

// stored is what the API server has of a part of an object.
func stored(t *testing.T, o *unstructured.Unstructured, path ...string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Objects of a type that is called namespace have paths like others.
func TestNamespaceAsResourceType(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	provider := providerOf(env)
	block := &schema.Block{Attributes: []*schema.Attribute{{Name: "label", Type: cty.String, Optional: true}}}
	all := definitions(t, provider, provider+"_namespace", block)
	install(t, env, all)
	for _, d := range all {
		o := objectOf(env, d, map[string]any{"forProvider": map[string]any{}})
		if err := env.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Errorf("reading an object of %s: %v", d.Name, err)
		}
		if err := env.Client.Delete(t.Context(), o); err != nil {
			t.Errorf("deleting an object of %s: %v", d.Name, err)
		}
	}
}

func TestServerStoresWhatObjectsDeclareAndShow(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	provider := providerOf(env)
	var w warnings
	env.Config.WarningHandlerWithContext = &w
	var err error
	if env.Client, err = client.NewWithWatch(env.Config, client.Options{Scheme: env.Scheme}); err != nil {
		t.Fatal(err)
	}
	blocks := map[string]*schema.Block{}
	var all []*apiextensionsv1.CustomResourceDefinition
	types := public(16)
	delete(types, unusual)
	delete(types, largest) // it is like many of the others, and takes seconds
	for i, resourceType := range slices.Sorted(maps.Keys(types)) {
		b := types[resourceType]
		resourceType = strings.Replace(resourceType, "reef", provider, 1)
		blocks[resourceType] = b
		all = append(all, definitions(t, provider, resourceType, b)[i%2]) // the server's time for both is twice as long
	}
	install(t, env, all)
	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range all {
		b := blocks[d.Annotations[kinds.AnnotationKeyResourceType]]
		declared, _ := kinds.Declare(b, schematest.Value(r, b, schematest.Options{Config: true}))
		if d.Spec.Scope == apiextensionsv1.NamespaceScoped {
			withoutNamespace(declared)
		}
		o := objectOf(env, d, map[string]any{"forProvider": declared, "initProvider": declared})
		if err := env.Client.Create(t.Context(), o); err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		for _, part := range []string{"forProvider", "initProvider"} {
			if diff := cmp.Diff(any(declared), stored(t, o, "spec", part)); diff != "" {
				t.Errorf("%s: %s -declared +stored:\n%s", d.Name, part, diff)
			}
		}
		shown := kinds.Object(b, schematest.Value(r, b, schematest.Options{}))
		o.Object["status"] = map[string]any{"atProvider": shown}
		if err := env.Client.Status().Update(t.Context(), o); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
		if diff := cmp.Diff(any(shown), stored(t, o, "status", "atProvider")); diff != "" {
			t.Errorf("%s: -shown +stored:\n%s", d.Name, diff)
		}
	}
	deprecated := "Terraform provider " + provider + " has deprecated resource type " + provider + "_described"
	if !strings.Contains(strings.Join(w, "\n"), deprecated) {
		t.Errorf("warnings are %q, want %q", w, deprecated)
	}
}

// warnings are those of the API server.
type warnings []string

// HandleWarningHeaderWithContext satisfies rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	*w = append(*w, text)
}

// withoutNamespace removes the namespaces of Secrets.
func withoutNamespace(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if ref, ok := field.(map[string]any); ok && strings.HasSuffix(name, "SecretRef") {
				delete(ref, "namespace")
			}
			withoutNamespace(field)
		}
	case []any:
		for _, item := range v {
			withoutNamespace(item)
		}
	}
}

func TestServerRequiresFields(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	provider := providerOf(env)
	both := definitions(t, provider, provider+"_berth", berth())
	install(t, env, both[:1])
	secret := map[string]any{"name": "s", "namespace": "default", "key": "k"}
	scaling := func(sizes ...string) []any {
		item := map[string]any{}
		for _, size := range sizes {
			item[size] = int64(1)
		}
		return []any{item}
	}
	complete := func() map[string]any {
		return map[string]any{"name": "b", "maxSize": int64(1), "namespace": "n", "passwordSecretRef": secret, "scaling": scaling("minSize", "desiredSize"),
			"option": []any{map[string]any{}, map[string]any{}}}
	}
	without := func(field string) map[string]any {
		rest := complete()
		delete(rest, field)
		return rest
	}
	with := func(field string, value any) map[string]any {
		more := complete()
		more[field] = value
		return more
	}
	refer := func(field string) []any {
		return []any{map[string]any{"field": field, "kind": "Other", "name": "o", "value": "status.atProvider.id"}}
	}
	for name, tc := range map[string]struct {
		spec map[string]any
		want string // in the error; empty: none
	}{
		"complete":                         {spec: map[string]any{"forProvider": complete()}},
		"a field is missing":               {spec: map[string]any{"forProvider": without("name")}, want: "spec.forProvider.name is required"},
		"a reserved word is missing":       {spec: map[string]any{"forProvider": without("namespace")}, want: "spec.forProvider.namespace is required"},
		"a block is missing":               {spec: map[string]any{"forProvider": without("scaling")}, want: "spec.forProvider.scaling is required"},
		"a secret is missing":              {spec: map[string]any{"forProvider": without("passwordSecretRef")}, want: "spec.forProvider.passwordSecretRef is required"},
		"a field of initProvider":          {spec: map[string]any{"forProvider": without("name"), "initProvider": map[string]any{"name": "b"}}},
		"a field by reference":             {spec: map[string]any{"forProvider": without("name"), "references": refer("name")}},
		"another field by reference":       {spec: map[string]any{"forProvider": without("name"), "references": refer("namely")}, want: "name is required"},
		"a block by reference":             {spec: map[string]any{"forProvider": without("scaling"), "references": refer("scaling[0].minSize")}},
		"only observed":                    {spec: map[string]any{"forProvider": map[string]any{}, "managementPolicies": []any{"Observe"}}},
		"a part of a block in another":     {spec: map[string]any{"forProvider": with("scaling", scaling("minSize")), "initProvider": map[string]any{"scaling": scaling("desiredSize")}}},
		"too many blocks":                  {spec: map[string]any{"forProvider": with("scaling", append(scaling(), scaling()...))}, want: "must have at most 1 item"},
		"too few blocks":                   {spec: map[string]any{"forProvider": with("option", []any{map[string]any{}})}, want: "should have at least 2 items"},
		"a field of one of many blocks":    {spec: map[string]any{"forProvider": with("ingress", []any{map[string]any{"authTokenSecretRef": secret}})}, want: "fromPort: Required"},
		"a secret of one of many blocks":   {spec: map[string]any{"forProvider": with("ingress", []any{map[string]any{"fromPort": int64(1)}})}, want: "authTokenSecretRef: Required"},
		"a text that a reference may set":  {spec: map[string]any{"forProvider": with("ingress", []any{map[string]any{"fromPort": int64(1), "authTokenSecretRef": secret}})}},
		"a value of another type":          {spec: map[string]any{"forProvider": with("maxSize", "1")}, want: "maxSize in body must be of type number"},
		"a reference without a field":      {spec: map[string]any{"forProvider": complete(), "references": refer("")}, want: "references[0].field"},
		"two references of the same field": {spec: map[string]any{"forProvider": complete(), "references": append(refer("id"), refer("id")...)}, want: "Duplicate value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := env.Client.Create(t.Context(), objectOf(env, both[0], tc.spec), client.DryRunAll)
			if tc.want == "" && err != nil || tc.want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestServerAcceptsConfigurations(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	b := &schema.Block{
		Attributes: []*schema.Attribute{attribute("folder", cty.String, required), attribute("token", cty.String, sensitive), attribute("max_retries", cty.Number)},
		Blocks:     []*schema.NestedBlock{block("retry", schema.List, 0, 1, attribute("attempts", cty.Number, required))},
	}
	all, err := kinds.ConfigDefinitions(providerOf(env), &schema.Schema{Block: b})
	if err != nil {
		t.Fatal(err)
	}
	install(t, env, all)
	for _, d := range all {
		t.Run(fmt.Sprintf("%s %s", d.Spec.Scope, d.Name), func(t *testing.T) {
			secret := map[string]any{"name": "s", "key": "k"}
			if d.Spec.Scope == apiextensionsv1.ClusterScoped {
				secret["namespace"] = "default"
			}
			configuration := map[string]any{"folder": "f", "tokenSecretRef": secret, "maxRetries": int64(3), "retry": []any{map[string]any{"attempts": int64(1)}}}
			environment := []any{map[string]any{"name": "A", "value": ""}, map[string]any{"name": "B", "valueSecretRef": secret}}
			files := []any{map[string]any{"name": "keys/key.json", "contentSecretRef": secret}}
			o := objectOf(env, d, map[string]any{"configuration": configuration, "environment": environment, "files": files})
			if err := env.Client.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"configuration": configuration, "environment": environment, "files": files, "credentials": map[string]any{"source": "None"}}
			if diff := cmp.Diff(any(want), stored(t, o, "spec")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for wrong, spec := range map[string]map[string]any{
				"configuration: Required":      {},
				"folder: Required":             {"configuration": map[string]any{}},
				"give either value or":         {"configuration": configuration, "environment": []any{map[string]any{"name": "A"}}},
				"files[0].name in body should": {"configuration": configuration, "files": []any{map[string]any{"name": "../a", "contentSecretRef": secret}}},
			} {
				err := env.Client.Create(t.Context(), objectOf(env, d, spec), client.DryRunAll)
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), wrong) {
					t.Errorf("%v, want %q", err, wrong)
				}
			}
		})
	}
}
