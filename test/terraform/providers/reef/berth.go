// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reef

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

// berths are reef_berth: importable, with an identity and a private state, which each call but Create and ImportState needs.
type berths struct{ identified }

func berth() identified {
	return identified{importable{object{kind: kind{
		name: "reef_berth", schema: berthSchema(), stateOnly: []string{"password", "timeouts"}, complete: completeBerth,
	}}}}
}

func berthSchema() schema.Schema {
	computed := schema.StringAttribute{Computed: true}
	required := schema.StringAttribute{Required: true}
	return schema.Schema{
		Description: "A place in the harbour.",
		Attributes: map[string]schema.Attribute{
			"id":       id(),
			"name":     schema.StringAttribute{Required: true, PlanModifiers: replace(), Description: "The name, which never changes."},
			"size":     schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(1), Description: "Default: 1."},
			"tags":     schema.MapAttribute{Optional: true, ElementType: types.StringType},
			"ready_at": schema.StringAttribute{Computed: true, PlanModifiers: keep(), Description: "When it was created."},
			"endpoint": schema.StringAttribute{Computed: true, PlanModifiers: keep(), Description: "Its address."},
			"password": schema.StringAttribute{
				Optional: true, Computed: true, Sensitive: true, PlanModifiers: keep(),
				Description: "Generated if it is not configured. The vendor does not return it: it is in the state only.",
			},
			"labels": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{
				Attributes: map[string]schema.Attribute{"key": required, "value": schema.StringAttribute{Optional: true}, "checksum": computed},
			}},
			"owners": schema.SetNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{
				Attributes: map[string]schema.Attribute{"name": required, "since": computed},
			}},
			"ports": schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{
				Attributes: map[string]schema.Attribute{"number": schema.Int64Attribute{Required: true}, "url": computed},
			}},
			"timeouts": timeouts(),
		},
	}
}

func completeBerth(c *client, o, old disk.Object) {
	if old == nil {
		old = disk.Object{"ready_at": time.Now().UTC().Format(time.RFC3339), "endpoint": o["id"].(string) + "." + c.endpoint}
	}
	o["ready_at"], o["endpoint"] = old["ready_at"], old["endpoint"]
	if o["password"] == nil {
		o["password"] = rand.Text()
	}
	each(o["labels"], func(label map[string]any) { label["checksum"] = "sum-" + label["key"].(string) })
	each(o["owners"], func(owner map[string]any) { owner["since"] = o["ready_at"] })
	ports, _ := o["ports"].(map[string]any)
	for name, port := range ports {
		port := port.(map[string]any)
		port["url"] = name + "://" + o["endpoint"].(string) + ":" + port["number"].(json.Number).String()
	}
}

// each calls a function for each object in a list.
func each(items any, f func(item map[string]any)) {
	all, _ := items.([]any)
	for _, item := range all {
		f(item.(map[string]any))
	}
}

// privateKey is of the private state: the number of changes.
const privateKey = "version"

var errNoPrivate = errors.New("the private state is lost: send what the last call returned")

func (r *berths) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.identified.Create(ctx, req, resp)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, privateKey, []byte("1"))...)
}

func (r *berths) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	if private, _ := req.Private.GetKey(ctx, privateKey); private == nil {
		fail(&resp.Diagnostics, errNoPrivate)
		return
	}
	r.identified.Read(ctx, req, resp)
}

func (r *berths) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	private, _ := req.Private.GetKey(ctx, privateKey)
	var version int
	if err := json.Unmarshal(private, &version); err != nil {
		fail(&resp.Diagnostics, errNoPrivate)
		return
	}
	r.identified.Update(ctx, req, resp)
	next, err := json.Marshal(version + 1)
	fail(&resp.Diagnostics, err)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, privateKey, next)...)
}

func (r *berths) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	if private, _ := req.Private.GetKey(ctx, privateKey); private == nil {
		fail(&resp.Diagnostics, errNoPrivate)
		return
	}
	r.identified.Delete(ctx, req, resp)
}

func (r *berths) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	r.identified.ImportState(ctx, req, resp)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, privateKey, []byte("1"))...)
}

// id is the attribute that the vendor chooses.
func id() schema.StringAttribute {
	return schema.StringAttribute{Computed: true, PlanModifiers: keep()}
}

func keep() []planmodifier.String {
	return []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
}

func replace() []planmodifier.String {
	return []planmodifier.String{stringplanmodifier.RequiresReplace()}
}
