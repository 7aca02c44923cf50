// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reef

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

// chart has all sorts of nested blocks, and the types of attributes that are rare.
func chart() kind {
	return kind{name: "reef_chart", writeOnly: "secret_wo", complete: completeChart, schema: schema.Schema{
		Description: "A map of the sea.",
		Attributes: map[string]schema.Attribute{
			"id":       id(),
			"title":    schema.StringAttribute{Required: true},
			"revision": schema.StringAttribute{Optional: true, Computed: true, Description: "Chosen at each change if it is not configured."},
			"anything": schema.DynamicAttribute{Optional: true, Description: "Any value."},
			"place": schema.ObjectAttribute{Optional: true, AttributeTypes: map[string]attr.Type{
				"name": types.StringType, "latitude": types.NumberType, "longitude": types.NumberType,
				"old_names": types.ListType{ElemType: types.StringType},
			}},
			"scale":             schema.Float64Attribute{Optional: true},
			"printed":           schema.BoolAttribute{Optional: true, DeprecationMessage: "Use revision."},
			"secret_wo":         schema.StringAttribute{Optional: true, WriteOnly: true, Sensitive: true, Description: "Sent when its version changes."},
			"secret_wo_version": schema.Int64Attribute{Optional: true},
		},
		Blocks: map[string]schema.Block{
			"layer": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
				Attributes: map[string]schema.Attribute{
					"name":     schema.StringAttribute{Required: true},
					"colour":   schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("blue"), Description: "Default: blue."},
					"token":    schema.StringAttribute{Optional: true, Sensitive: true},
					"checksum": schema.StringAttribute{Computed: true},
				},
				Blocks: map[string]schema.Block{
					"point": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
						"x": schema.Int64Attribute{Required: true}, "y": schema.Int64Attribute{Required: true},
					}}},
				},
			}},
			"buoy": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{
				Attributes: map[string]schema.Attribute{"colour": schema.StringAttribute{Optional: true}},
				Blocks: map[string]schema.Block{
					"light": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
						"period": schema.Int64Attribute{Optional: true},
					}}},
				},
			}},
			"legend": schema.SingleNestedBlock{
				Attributes: map[string]schema.Attribute{"text": schema.StringAttribute{Optional: true}, "size": schema.Int64Attribute{Optional: true}},
			},
		},
	}}
}

func completeChart(_ *client, o, old disk.Object) {
	if o["revision"] == nil {
		before, _ := old["revision"].(string)
		o["revision"] = "r" + before
	}
	each(o["layer"], func(layer map[string]any) { layer["checksum"] = "sum-" + layer["name"].(string) })
}
