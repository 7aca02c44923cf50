// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
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
