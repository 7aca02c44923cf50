// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

const document = `{
  "format_version": "1.0",
  "provider_schemas": {
    "registry.terraform.io/bowline-dev/reef": {
      "provider": {"version": 0, "block": {"attributes": {"token": {"type": "string", "optional": true, "sensitive": true}}}},
      "resource_schemas": {
        "reef_berth": {"version": 2, "block": {
          "description": "A berth.", "description_kind": "plain", "deprecated": true,
          "attributes": {
            "tags": {"type": ["map", "string"], "description": "Tags.", "optional": true, "computed": true},
            "name": {"type": "string", "required": true, "deprecated": true, "deprecation_message": "use title"},
            "any": {"type": "dynamic", "optional": true, "write_only": true},
            "labels": {"nested_type": {"nesting_mode": "set", "attributes": {"key": {"type": ["object", {"a": ["list", "number"]}], "computed": true}}}, "optional": true}
          },
          "block_types": {
            "size": {"nesting_mode": "list", "min_items": 1, "max_items": 2, "block": {"attributes": {"n": {"type": "number", "required": true}}}},
            "timeouts": {"nesting_mode": "single", "block": {}}, "zone": {"nesting_mode": "group", "block": {}}, "map": {"nesting_mode": "map", "block": {}}
          }
        }}
      },
      "data_source_schemas": {"reef_berths": {"version": 0, "block": {}}}
    },
    "registry.terraform.io/hashicorp/null": {}
  }
}`

func TestReadDocument(t *testing.T) {
	t.Parallel()
	got, err := schema.ReadDocument(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]schema.Provider{
		"registry.terraform.io/bowline-dev/reef": {
			Configuration: &schema.Schema{Block: &schema.Block{Attributes: []*schema.Attribute{{Name: "token", Type: cty.String, Optional: true, Sensitive: true}}}},
			Types: map[string]*schema.Schema{"reef_berth": {Version: 2, Block: &schema.Block{
				Description: "A berth.", Deprecated: true,
				Attributes: []*schema.Attribute{
					{Name: "any", Type: cty.DynamicPseudoType, Optional: true, WriteOnly: true},
					{Name: "labels", Optional: true, Nested: &schema.Object{Nesting: schema.Set, Attributes: []*schema.Attribute{
						{Name: "key", Type: cty.Object(map[string]cty.Type{"a": cty.List(cty.Number)}), Computed: true}}}},
					{Name: "name", Type: cty.String, Required: true, Deprecated: true, DeprecationMessage: "use title"},
					{Name: "tags", Type: cty.Map(cty.String), Description: "Tags.", Optional: true, Computed: true},
				},
				Blocks: []*schema.NestedBlock{
					{Name: "map", Nesting: schema.Map, Block: &schema.Block{}},
					{Name: "size", Nesting: schema.List, MinItems: 1, MaxItems: 2,
						Block: &schema.Block{Attributes: []*schema.Attribute{{Name: "n", Type: cty.Number, Required: true}}}},
					{Name: "timeouts", Nesting: schema.Single, Block: &schema.Block{}},
					{Name: "zone", Nesting: schema.Group, Block: &schema.Block{}},
				},
			}}},
		},
		"registry.terraform.io/hashicorp/null": {Configuration: &schema.Schema{Block: &schema.Block{}}, Types: map[string]*schema.Schema{}},
	}
	sameType := cmp.Comparer(func(a, b cty.Type) bool {
		return a == cty.NilType && b == cty.NilType || a != cty.NilType && b != cty.NilType && a.Equals(b)
	})
	if diff := cmp.Diff(want, got, sameType); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadDocumentNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	wrong := func(block string) string {
		return `{"format_version":"1.0","provider_schemas":{"a/b/c":{"resource_schemas":{"c_d":{"block":` + block + `}}}}}`
	}
	for document, want := range map[string]string{
		`no JSON`:                  "reading schemas as JSON: ",
		`{}`:                       `schemas have format_version "", not 1: write them with terraform providers schema -json`,
		`{"format_version":"2.0"}`: `schemas have format_version "2.0", not 1: write them with terraform providers schema -json`,
		wrong(`{"block_types":{"e":{"nesting_mode":"heap"}}}`):                                `schema of c_d: block e: nesting mode "heap" is unknown`,
		wrong(`{"attributes":{"e":{"nested_type":{"nesting_mode":""}}}}`):                     `schema of c_d: attribute e: nesting mode "" is unknown`,
		wrong(`{"attributes":{"e":{"optional":true}}}`):                                       "schema of c_d: attribute e has no type",
		wrong(`{"block_types":{"e":{"nesting_mode":"set","block":{"attributes":{"f":{}}}}}}`): "schema of c_d: block e: attribute f has no type",
	} {
		if _, err := schema.ReadDocument(strings.NewReader(document)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", document, err, want)
		}
	}
}
