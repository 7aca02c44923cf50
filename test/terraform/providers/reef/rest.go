// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reef

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

// anchor refers to a berth, which the vendor does not delete before it.
func anchor() kind {
	return kind{name: "reef_anchor", complete: nothing, schema: schema.Schema{Attributes: map[string]schema.Attribute{
		"id":       id(),
		"berth_id": schema.StringAttribute{Required: true, PlanModifiers: replace()},
		"weight":   schema.Int64Attribute{Optional: true},
	}}}
}

// pier has no secrets.
func pier() kind {
	return kind{name: "reef_pier", complete: completePier, schema: schema.Schema{Attributes: map[string]schema.Attribute{
		"id":      id(),
		"name":    schema.StringAttribute{Required: true, PlanModifiers: replace()},
		"tags":    schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"address": schema.StringAttribute{Computed: true, PlanModifiers: keep()},
	}, Blocks: map[string]schema.Block{
		"metadata": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
			Attributes: map[string]schema.Attribute{"labels": schema.MapAttribute{Optional: true, ElementType: types.StringType}},
		}},
	}}}
}

func completePier(c *client, o, _ disk.Object) {
	o["address"] = o["id"].(string) + "." + c.endpoint
}

// beacon has a secret that the vendor returns.
func beacon() kind {
	return kind{name: "reef_beacon", complete: completeBeacon, schema: schema.Schema{Attributes: map[string]schema.Attribute{
		"id":   id(),
		"name": schema.StringAttribute{Required: true, PlanModifiers: replace()},
		"tags": schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"code": schema.StringAttribute{Computed: true, Sensitive: true, PlanModifiers: keep()},
	}}}
}

func completeBeacon(_ *client, o, old disk.Object) {
	if o["code"] = old["code"]; old == nil {
		o["code"] = rand.Text()
	}
}

func nothing(*client, disk.Object, disk.Object) {}

func completeFaulty(_ *client, o, old disk.Object) {
	if o["secret"] = old["secret"]; old == nil {
		o["secret"] = rand.Text()
	}
}

// faulty breaks a rule of Terraform in each mode.
func faulty() kind {
	return kind{name: "reef_faulty", complete: completeFaulty, returned: breakRule, schema: schema.Schema{Attributes: map[string]schema.Attribute{
		"id":    id(),
		"value": schema.StringAttribute{Required: true},
		"mode": schema.StringAttribute{Optional: true, Description: "inconsistent: a change returns another value than planned. " +
			"drifting: each read returns another value. null_id: a create returns no id. null_state: a create returns nothing. " +
			"leak: the error of a create repeats a secret. Default: no rule is broken."},
		"secret": schema.StringAttribute{Computed: true, Sensitive: true, PlanModifiers: keep()},
	}}}
}

func breakRule(verb string, o disk.Object) {
	switch mode := o["mode"]; {
	case mode == "inconsistent" && verb != "read":
		o["value"] = "not what was planned"
	case mode == "drifting" && verb == "read":
		o["value"] = "at " + time.Now().Format(time.RFC3339Nano)
	case mode == "null_id" && verb == "create":
		o["id"] = nil
	}
}

// upgraded stores its states in version 1. In version 0 size was a text such as 10GB.
type upgraded struct{ importable }

func upgradedKind() kind {
	return kind{name: "reef_upgraded", complete: nothing, schema: schema.Schema{Version: 1, Attributes: map[string]schema.Attribute{
		"id": id(), "name": schema.StringAttribute{Required: true}, "size_gb": schema.Int64Attribute{Optional: true},
	}}}
}

func (r *upgraded) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	former := schema.Schema{Attributes: map[string]schema.Attribute{
		"id": id(), "name": schema.StringAttribute{Required: true}, "size": schema.StringAttribute{Optional: true},
	}}
	return map[int64]resource.StateUpgrader{0: {PriorSchema: &former, StateUpgrader: upgrade}}
}

func upgrade(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
	var before struct {
		ID   types.String `tfsdk:"id"`
		Name types.String `tfsdk:"name"`
		Size types.String `tfsdk:"size"`
	}
	after := struct {
		ID     types.String `tfsdk:"id"`
		Name   types.String `tfsdk:"name"`
		SizeGB types.Int64  `tfsdk:"size_gb"`
	}{}
	resp.Diagnostics.Append(req.State.Get(ctx, &before)...)
	after.ID, after.Name = before.ID, before.Name
	if size := strings.TrimSuffix(before.Size.ValueString(), "GB"); size != "" {
		number, err := strconv.ParseInt(size, 10, 64)
		fail(&resp.Diagnostics, err)
		after.SizeGB = types.Int64Value(number)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &after)...)
}

// mirrors are reef_mirror, which is in the state only: its id tells no two apart, so that it cannot be imported.
type mirrors struct{ client *client }

type mirrorState struct {
	ID     types.String `tfsdk:"id"`
	Length types.Int64  `tfsdk:"length"`
	Secret types.String `tfsdk:"secret"`
}

func (r *mirrors) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "reef_mirror"
}

func (r *mirrors) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":     id(),
		"length": schema.Int64Attribute{Optional: true},
		"secret": schema.StringAttribute{Computed: true, Sensitive: true, PlanModifiers: keep()},
	}}
}

func (r *mirrors) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.client, _ = req.ProviderData.(*client)
}

func (r *mirrors) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var state mirrorState
	resp.Diagnostics.Append(req.Plan.Get(ctx, &state)...)
	done, err := r.client.Touch(ctx, "create", "reef_mirror", "none")
	fail(&resp.Diagnostics, err)
	state.ID, state.Secret = types.StringValue("none"), types.StringValue(rand.Text())
	if done {
		resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	}
}

func (r *mirrors) Read(ctx context.Context, _ resource.ReadRequest, resp *resource.ReadResponse) {
	_, err := r.client.Touch(ctx, "read", "reef_mirror", "none")
	fail(&resp.Diagnostics, err)
}

func (r *mirrors) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	done, err := r.client.Touch(ctx, "update", "reef_mirror", "none")
	fail(&resp.Diagnostics, err)
	if done {
		resp.State.Raw = req.Plan.Raw
	}
}

func (r *mirrors) Delete(ctx context.Context, _ resource.DeleteRequest, resp *resource.DeleteResponse) {
	_, err := r.client.Touch(ctx, "delete", "reef_mirror", "none")
	fail(&resp.Diagnostics, err)
}

func (r *mirrors) ImportState(_ context.Context, _ resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	fail(&resp.Diagnostics, errors.New("a mirror cannot be imported: its secret is in the state only"))
}
