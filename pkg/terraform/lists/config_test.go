// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lists_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/lists"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

func text(name string) *schema.Attribute {
	return &schema.Attribute{Name: name, Type: cty.String, Optional: true}
}

// instance is a resource type whose lists need a region.
func instance() plugin.Resource {
	region := text("region")
	region.Required, region.Optional = true, false
	filter := &schema.Block{Attributes: []*schema.Attribute{text("name"), {Name: "any_of", Type: cty.List(cty.String), Optional: true}}}
	return plugin.Resource{Type: "cloud_instance",
		Schema: &schema.Schema{Block: &schema.Block{Attributes: []*schema.Attribute{text("region"), text("zone")}}},
		List: &schema.Schema{Block: &schema.Block{
			Attributes: []*schema.Attribute{region, {Name: "most_results", Type: cty.Number, Optional: true}},
			Blocks:     []*schema.NestedBlock{{Name: "filter", Nesting: schema.List, Block: filter}},
		}},
	}
}

// A template becomes the configuration of a list for an object, or tells why not.
func TestConfig(t *testing.T) {
	filtered := map[string]any{"region": "{region}", "mostResults": int64(5), "filter": []any{
		map[string]any{"name": "tag:bowline-uid", "anyOf": []any{"{metadata.uid}", "{region}-{zone}"}}}}
	for name, tc := range map[string]struct {
		template, declared, want map[string]any
		wrong                    bool // in any case
	}{
		"filled": {template: filtered, declared: map[string]any{"region": "north", "zone": "{metadata.uid}"},
			want: map[string]any{"region": "north", "mostResults": int64(5), "filter": []any{
				map[string]any{"name": "tag:bowline-uid", "anyOf": []any{"the-uid", "north-{metadata.uid}"}}}}},
		"an input is not set":    {template: filtered, declared: map[string]any{"zone": "b"}},
		"an argument is missing": {declared: map[string]any{"region": "north"}},
		"no such input":          {template: map[string]any{"region": "{place}"}, wrong: true},
		"no such argument":       {template: map[string]any{"region": "north", "place": "a"}, wrong: true},
		"another type":           {template: map[string]any{"region": int64(1)}, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			template, err := lists.NewTemplate(instance(), tc.template)
			if (err != nil) != tc.wrong {
				t.Fatalf("error %v", err)
			}
			if tc.wrong {
				return
			}
			got, err := template.Config(instance(), tc.declared, "the-uid")
			if (err == nil) != (tc.want != nil) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got); err == nil && diff != "" {
				t.Error(diff)
			}
		})
	}
	unlisted := instance()
	unlisted.List = nil
	if template, err := lists.NewTemplate(unlisted, nil); err != nil {
		t.Error(err)
	} else if _, err := template.Config(unlisted, nil, "the-uid"); err == nil {
		t.Error("what the provider does not list has a configuration of its list")
	}
}
