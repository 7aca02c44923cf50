// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reef

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

// berths are reef_berth: importable, with an identity and a private state, which each call but Create and ImportState needs.
type berths struct{ importable }

func newBerths() *berths {
	return &berths{importable{object{kind: kind{
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

func (r *berths) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{"id": identityschema.StringAttribute{RequiredForImport: true}},
	}
}

func (r *berths) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.importable.Create(ctx, req, resp)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, privateKey, []byte("1"))...)
	var id types.String
	if !resp.State.Raw.IsNull() && !resp.State.GetAttribute(ctx, path.Root("id"), &id).HasError() {
		resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), id)...)
	}
}

func (r *berths) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	if private, _ := req.Private.GetKey(ctx, privateKey); private == nil {
		fail(&resp.Diagnostics, errNoPrivate)
		return
	}
	r.importable.Read(ctx, req, resp)
	var id types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), id)...) // of what is gone, too: the framework demands it after imports
}

func (r *berths) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	private, _ := req.Private.GetKey(ctx, privateKey)
	var version int
	if err := json.Unmarshal(private, &version); err != nil {
		fail(&resp.Diagnostics, errNoPrivate)
		return
	}
	r.importable.Update(ctx, req, resp)
	next, err := json.Marshal(version + 1)
	fail(&resp.Diagnostics, err)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, privateKey, next)...)
}

func (r *berths) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	if private, _ := req.Private.GetKey(ctx, privateKey); private == nil {
		fail(&resp.Diagnostics, errNoPrivate)
		return
	}
	r.importable.Delete(ctx, req, resp)
}

func (r *berths) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var err error
	if req.ID, err = r.client.Find(ctx, r.name, req.ID); err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("id"), path.Root("id"), req, resp)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, privateKey, []byte("1"))...)
}

// A berthList lists berths for the protocol's ListResource, all or those of a name.
type berthList struct{ *berths }

func (l *berthList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = listschema.Schema{Attributes: map[string]listschema.Attribute{"name": listschema.StringAttribute{Optional: true}}}
}

func (l *berthList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var name types.String
	req.Config.GetAttribute(ctx, path.Root("name"), &name) // errors are those of the schema
	found, err := l.client.List(ctx, l.name)
	if err != nil {
		result := req.NewListResult(ctx)
		fail(&result.Diagnostics, err)
		stream.Results = slices.Values([]list.ListResult{result})
		return
	}
	var results []list.ListResult
	for _, o := range found {
		if !name.IsNull() && o["name"] != name.ValueString() {
			continue
		}
		result := req.NewListResult(ctx)
		result.DisplayName, _ = o["name"].(string)
		result.Diagnostics.Append(result.Identity.SetAttribute(ctx, path.Root("id"), o["id"])...)
		if req.IncludeResource {
			value, err := toValue(o, req.ResourceSchema.Type().TerraformType(ctx))
			fail(&result.Diagnostics, err)
			result.Resource.Raw = value
		}
		results = append(results, result)
	}
	stream.Results = slices.Values(results)
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
