// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

var sorted = cmpopts.SortSlices(func(a, b string) bool { return a < b })

func TestPaths(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path   cty.Path
		want   string
		oneWay bool // the API cannot name it, or no reference may
	}{
		"an attribute":           {path: cty.GetAttrPath("max_size"), want: "maxSize"},
		"one that keeps its own": {path: cty.GetAttrPath("a_1"), want: "a_1"},
		"a secret":               {path: cty.GetAttrPath("password"), want: "passwordSecretRef"},
		"in a list":              {path: cty.GetAttrPath("scaling").IndexInt(0).GetAttr("min_size"), want: "scaling[0].minSize"},
		"in a map":               {path: cty.GetAttrPath("tags").IndexString("my_key"), want: "tags.my_key"},
		"a key with a dot":       {path: cty.GetAttrPath("routes").IndexString("a.b").GetAttr("next_hop"), want: "routes[a.b].nextHop"},
		"in an object":           {path: cty.GetAttrPath("limits").GetAttr("max_age"), want: "limits.maxAge"},
		"in a single block":      {path: cty.GetAttrPath("timeouts").GetAttr("create"), want: "timeouts.create"},
		"in a tuple":             {path: cty.GetAttrPath("pair").IndexInt(1), want: "pair[1]"},
		"in a set":               {path: cty.GetAttrPath("ingress").Index(cty.EmptyObjectVal).GetAttr("from_port"), want: "ingress[*].fromPort", oneWay: true},
		"in a set of texts":      {path: cty.GetAttrPath("limits").GetAttr("zones").IndexString("a"), want: "limits.zones[*]", oneWay: true},
		"in any value":           {path: cty.GetAttrPath("anything").GetAttr("my_key").IndexInt(0), want: "anything.my_key[0]", oneWay: true},
		"an output":              {path: cty.GetAttrPath("ready_at"), want: "readyAt", oneWay: true},
		"an unknown attribute":   {path: cty.GetAttrPath("no_such").GetAttr("field_of"), want: "no_such.field_of", oneWay: true},
		"all of it":              {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := kinds.FieldPath(berth(), tc.path); got != tc.want {
				t.Errorf("field is %s, want %s", got, tc.want)
			}
			if tc.oneWay {
				return
			}
			back, err := kinds.AttributePath(berth(), tc.want)
			if err != nil || !slices.EqualFunc(back, tc.path, func(a, b cty.PathStep) bool { return cty.Path{a}.Equals(cty.Path{b}) }) {
				t.Errorf("path of %s is %#v, %v", tc.want, back, err)
			}
		})
	}
}

func TestAttributePathOfWrongFields(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"max_size":         "there is no field max_size: see kubectl explain",
		"scaling[0].size":  "there is no field scaling[0].size: see kubectl explain",
		"readyAt":          "there is no field readyAt: see kubectl explain",
		"scaling.minSize":  "field scaling is a list: write the number of an element in brackets, such as [0]",
		"scaling[-1]":      "field scaling is a list: write the number of an element in brackets, such as [0]",
		"name.first":       "field name has no fields",
		"scaling[0]minSiz": "there is no field scaling[0].minSiz: see kubectl explain",
		"name[":            "field name[ is no path: write one such as subnets[0].networkId",
	} {
		if _, err := kinds.AttributePath(berth(), field); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", field, err, want)
		}
	}
	path, err := kinds.AttributePath(berth(), "ingress[1].vpcId")
	if want := cty.GetAttrPath("ingress").IndexInt(1).GetAttr("vpc_id"); err != nil || !path.Equals(want) {
		t.Errorf("path is %#v, %v", path, err)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	declared := map[string]any{"name": "north", "maxSize": int64(3), "tags": map[string]any{"my_key": "a"}, "scaling": []any{map[string]any{"minSize": 1.5}}}
	for text, want := range map[string]string{
		"{name}":                             "north",
		"fleet/{name}/{maxSize}":             "fleet/north/3",
		"{tags.my_key}-{scaling[0].minSize}": "a-1.5",
		"{tags.other}/{name}":                "",
		"{scaling[1].minSize}":               "",
		"{limits.maxAge}":                    "",
		"{passwordSecretRef}":                "field passwordSecretRef is a secret: name others",
		"{tags}":                             "field tags is neither a text nor a number: name one that is",
		"{readyAt}":                          "there is no field readyAt: see kubectl explain",
		"{name.first}":                       "field name has no fields",
		"{scaling.minSize}":                  "field scaling is a list: write the number of an element in brackets, such as [0]",
	} {
		template, err := kinds.NewTemplate(berth(), text)
		if err != nil {
			if err.Error() != want {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
			continue
		}
		if got, known := template.Text(declared); known != (want != "") || known && got != want {
			t.Errorf("%s is %q, %v, want %q", text, got, known, want)
		}
	}
}

func TestLabelsPath(t *testing.T) {
	t.Parallel()
	if path, err := kinds.LabelsPath(berth(), "tags"); err != nil || !path.Equals(cty.GetAttrPath("tags")) {
		t.Errorf("path is %#v, %v", path, err)
	}
	for _, field := range []string{"name", "routes", "scaling", "passwordSecretRef", "anything", "limits"} {
		if _, err := kinds.LabelsPath(berth(), field); err == nil || err.Error() != "field "+field+" is no map of texts: name one such as tags or labels" {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A secret is missing if the provider chose it, and a state has nothing of it.
func TestMissingSecrets(t *testing.T) {
	t.Parallel()
	text := func(name string, computed, sensitive bool) *schema.Attribute {
		return &schema.Attribute{Name: name, Type: cty.String, Optional: true, Computed: computed, Sensitive: sensitive}
	}
	nested := &schema.Object{Nesting: schema.List, Attributes: []*schema.Attribute{text("key", true, true)}}
	of := &schema.Block{
		Attributes: []*schema.Attribute{
			text("endpoint", true, false), text("password", true, true), text("token", false, true),
			{Name: "user_keys", Computed: true, Nested: nested}, {Name: "sent", Type: cty.String, Optional: true, Computed: true, Sensitive: true, WriteOnly: true},
		},
		Blocks: []*schema.NestedBlock{{Name: "node", Nesting: schema.List, Block: &schema.Block{Attributes: []*schema.Attribute{text("private_key", true, true)}}}},
	}
	key := func(v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"key": v}) }
	node := func(v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"private_key": v}) }
	null, nodes := cty.NullVal(cty.String), cty.ListValEmpty(cty.Object(map[string]cty.Type{"private_key": cty.String}))
	for name, tc := range map[string]struct {
		password, keys, nodes cty.Value
		declared              map[string]any
		want                  []string
	}{
		"none":          {cty.StringVal("x"), cty.ListVal([]cty.Value{key(cty.StringVal("x"))}), cty.ListVal([]cty.Value{node(cty.StringVal("x"))}), nil, nil},
		"an empty text": {cty.StringVal(""), cty.ListVal([]cty.Value{key(cty.StringVal("x"))}), nodes, nil, []string{"password"}},
		"declared":      {null, cty.ListVal([]cty.Value{key(cty.StringVal("x"))}), nodes, map[string]any{"passwordSecretRef": map[string]any{}}, nil},
		"in an element": {cty.StringVal("x"), cty.ListVal([]cty.Value{key(null)}), cty.ListVal([]cty.Value{node(null)}), nil, []string{"node[0].privateKey", "userKeys[0].key"}},
		"no elements":   {cty.StringVal("x"), cty.ListValEmpty(cty.Object(map[string]cty.Type{"key": cty.String})), nodes, nil, []string{"userKeys"}},
		"not known":     {cty.UnknownVal(cty.String), cty.NullVal(cty.List(cty.Object(map[string]cty.Type{"key": cty.String}))), nodes, nil, []string{"password", "userKeys"}},
	} {
		state := cty.ObjectVal(map[string]cty.Value{"endpoint": null, "password": tc.password, "token": null, "user_keys": tc.keys, "sent": null, "node": tc.nodes})
		if diff := cmp.Diff(tc.want, kinds.MissingSecrets(of, state, tc.declared)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	if !kinds.HasSecrets(of) {
		t.Error("states have no secrets")
	}
	for name, without := range map[string]*schema.Block{
		"plain":      {Attributes: of.Attributes[:1]},
		"write-only": {Attributes: of.Attributes[4:]},
	} {
		if kinds.HasSecrets(without) {
			t.Errorf("%s: states have secrets", name)
		}
	}
	if !kinds.HasSecrets(&schema.Block{Blocks: of.Blocks}) {
		t.Error("a nested secret is none")
	}
}
