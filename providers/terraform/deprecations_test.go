// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	tfschema "github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// warnings are those of the API server for the last request.
type warnings struct {
	mu  sync.Mutex
	all []string
}

// HandleWarningHeaderWithContext satisfies rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, text)
}

// warn returns what the API server says about fields for a write.
func (s *stage) warn(write func(client.Client) error) (found []string, err error) {
	w := &warnings{}
	config := rest.CopyConfig(s.Config)
	config.WarningHandlerWithContext = w
	c, err := client.New(config, client.Options{Scheme: s.Scheme})
	if err == nil {
		err = write(c)
	}
	for _, text := range w.all {
		if _, fields, ok := strings.Cut(text, "Terraform provider "+s.name+" has deprecated "); ok {
			found = append(found, fields)
		}
	}
	return found, err
}

// Fields that a provider has deprecated are warned of while objects set them, and never refused.
func TestDeprecatedFields(t *testing.T) {
	t.Parallel()
	s := newStage(t, mirror.Providers(t))
	s.run()
	of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_chart", "reef_berth"}})
	s.ready(of)
	chart := s.object("Chart", map[string]any{"forProvider": map[string]any{"title": "north", "printed": true}})
	const want = "printed (Use revision.)"
	s.Eventually(t, "the API server warns", func(context.Context) error {
		try := chart.DeepCopy()
		got, err := s.warn(func(c client.Client) error { return c.Create(t.Context(), try, client.DryRunAll) })
		if diff := cmp.Diff([]string{want}, got); err == nil && diff != "" {
			err = fmt.Errorf("warnings: -want +got:\n%s", diff)
		}
		return err
	})
	s.must(s.Client.Create(t.Context(), chart))
	t.Cleanup(func() { _ = s.Client.Delete(context.Background(), chart) })
	for name, tc := range map[string]struct {
		change func(*kube.Unstructured)
		want   []string
	}{
		"Label":   {change: func(o *kube.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }},
		"Field":   {change: func(o *kube.Unstructured) { s.must(kube.SetNestedField(o.Object, 2.5, "spec", "forProvider", "scale")) }, want: []string{want}},
		"Removal": {change: func(o *kube.Unstructured) { kube.RemoveNestedField(o.Object, "spec", "forProvider", "printed") }},
	} {
		t.Run(name, func(t *testing.T) {
			changed := chart.DeepCopy()
			tc.change(changed)
			got, err := s.warn(func(c client.Client) error {
				return c.Patch(t.Context(), changed, client.MergeFrom(chart), client.DryRunAll)
			})
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("warnings: -want +got:\n%s (%v)", diff, err)
			}
		})
	}
	berth := s.object("Berth", map[string]any{"forProvider": map[string]any{"name": "north"}})
	if got, err := s.warn(func(c client.Client) error { return c.Create(t.Context(), berth, client.DryRunAll) }); err != nil || len(got) > 0 {
		t.Errorf("an object without deprecated fields has warnings %q (%v)", got, err)
	}
}

func old(name string, o func(*tfschema.Attribute)) *tfschema.Attribute {
	a := &tfschema.Attribute{Name: name, Type: cty.String, Optional: true, Deprecated: true, DeprecationMessage: "Old\n" + name + "."}
	if o != nil {
		o(a)
	}
	return a
}

// nestings has deprecated fields everywhere.
func nestings() *tfschema.Block {
	deepest := &tfschema.Block{Attributes: []*tfschema.Attribute{old("leaf", nil)}}
	for range 7 {
		deepest = &tfschema.Block{Attributes: []*tfschema.Attribute{old("leaf", nil)},
			Blocks: []*tfschema.NestedBlock{{Name: "deep", Nesting: tfschema.List, Block: deepest}}}
	}
	block := func(name string, nesting tfschema.Nesting, b *tfschema.Block) *tfschema.NestedBlock {
		return &tfschema.NestedBlock{Name: name, Nesting: nesting, Block: b}
	}
	in := func() *tfschema.Block {
		return &tfschema.Block{Attributes: []*tfschema.Attribute{old("old_one", nil), {Name: "current", Type: cty.String, Optional: true}}}
	}
	return &tfschema.Block{
		Attributes: []*tfschema.Attribute{
			old("name", func(a *tfschema.Attribute) { a.DeprecationMessage = "" }),
			old("key", func(a *tfschema.Attribute) { a.Sensitive = true }),
			old("chosen", func(a *tfschema.Attribute) { a.Optional, a.Computed = false, true }),
			old("texts", func(a *tfschema.Attribute) { a.Type = cty.List(cty.String) }),
			{Name: "routes", Optional: true, Nested: &tfschema.Object{Nesting: tfschema.Map, Attributes: in().Attributes}},
		},
		Blocks: []*tfschema.NestedBlock{
			block("single", tfschema.Single, in()), block("list", tfschema.List, in()), block("set", tfschema.Set, in()), block("deep", tfschema.List, deepest),
			block("former", tfschema.List, &tfschema.Block{Deprecated: true, Attributes: in().Attributes}),
		},
	}
}

// The policy finds fields in objects, lists, sets and maps, down to a depth.
func TestDeprecatedFieldsAtAnyPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	schema := &tfschema.Schema{Block: nestings()}
	s.name += "s" // of which there are no controllers
	definitions, err := kinds.Definitions(s.name, "reef_thing", schema)
	s.must(err)
	s.must(controlplanetest.Install(t.Context(), s.Config, definitions...))
	of := s.provider(v1alpha1.TerraformProviderSpec{Path: "provider", Types: []string{"any"}})
	served := v1alpha1.ServedKind{Type: "reef_thing", Kind: definitions[0].Spec.Names.Kind}
	for _, d := range kinds.Deprecations(schema) {
		served.Deprecated = append(served.Deprecated, v1alpha1.DeprecatedField{Field: d.Path, Message: d.Message})
	}
	of.Status.Kinds = []v1alpha1.ServedKind{{Type: "another", Kind: "Another", Deprecated: []v1alpha1.DeprecatedField{{Field: "single"}}}, served}
	s.must(s.Client.Status().Update(t.Context(), of))
	type object = map[string]any
	one, current := object{"oldOne": "x"}, object{"current": "x"}
	deep := object{"leaf": "x"}
	for range 6 {
		deep = object{"deep": []any{deep}}
	}
	for _, tc := range []struct {
		name      string
		spec      object
		initially bool
		want      []string
	}{
		{name: "Attribute", spec: object{"name": "x"}, want: []string{"name"}},
		{name: "InitProvider", spec: object{"name": "x"}, initially: true, want: []string{"name"}},
		{name: "Secret", spec: object{"keySecretRef": object{"namespace": "a", "name": "b", "key": "c"}}, want: []string{"keySecretRef (Old key.)"}},
		{name: "List", spec: object{"texts": []any{"a", "b"}}, want: []string{"texts (Old texts.)"}},
		{name: "InObject", spec: object{"single": one}, want: []string{"single.oldOne (Old old_one.)"}},
		{name: "InList", spec: object{"list": []any{current, one}}, want: []string{"list.oldOne (Old old_one.)"}},
		{name: "InSet", spec: object{"set": []any{one, one}}, want: []string{"set.oldOne (Old old_one.)"}},
		{name: "InMap", spec: object{"routes": object{"a": current, "b": one}}, want: []string{"routes.*.oldOne (Old old_one.)"}},
		{name: "Block", spec: object{"former": []any{one}}, want: []string{"former"}},
		{name: "Several", spec: object{"name": "x", "single": one}, want: []string{"name, single.oldOne (Old old_one.)"}},
		{name: "SixNamesDown", spec: deep["deep"].([]any)[0].(object), want: []string{"deep.deep.deep.deep.deep.leaf (Old leaf.)"}},
		{name: "SevenNamesDown", spec: deep},
		{name: "None", spec: object{"single": current, "list": []any{current}, "set": []any{}, "routes": object{"a": current}, "deep": []any{object{}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := object{"forProvider": tc.spec}
			if tc.initially {
				spec = object{"forProvider": object{}, "initProvider": tc.spec}
			}
			s.Eventually(t, "the API server warns", func(context.Context) error {
				o := s.object(definitions[0].Spec.Names.Kind, spec)
				got, err := s.warn(func(c client.Client) error { return c.Create(t.Context(), o, client.DryRunAll) })
				if diff := cmp.Diff(tc.want, got); err == nil && diff != "" {
					err = fmt.Errorf("warnings: -want +got:\n%s", diff)
				}
				return err
			})
		})
	}
}
