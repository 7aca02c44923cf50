// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reef

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// An identified is an importable with an identity: its id.
type identified struct{ importable }

func (r *identified) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{"id": identityschema.StringAttribute{RequiredForImport: true}},
	}
}

func (r *identified) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.importable.Create(ctx, req, resp)
	var id types.String
	if !resp.State.Raw.IsNull() && !resp.State.GetAttribute(ctx, path.Root("id"), &id).HasError() {
		resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), id)...)
	}
}

func (r *identified) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	r.importable.Read(ctx, req, resp)
	var id types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), id)...) // of what is gone, too: the framework demands it after imports
}

func (r *identified) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if req.ID != "" { // else it is by identity
		var err error
		if req.ID, err = r.client.Find(ctx, r.name, req.ID); err != nil {
			fail(&resp.Diagnostics, err)
			return
		}
	}
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("id"), path.Root("id"), req, resp)
}

// mooring has no secrets. Its lists need the name, which mostly is the only one, and do not include the resources.
func mooring() identified {
	return identified{importable{object{kind: kind{name: "reef_mooring", complete: nothing, schema: schema.Schema{Attributes: map[string]schema.Attribute{
		"id":   id(),
		"name": schema.StringAttribute{Required: true, PlanModifiers: replace()},
		"tags": schema.MapAttribute{Optional: true, ElementType: types.StringType},
	}}}}}}
}

// A listed lists resources for the protocol's ListResource, all or those of a name.
type listed struct {
	identified
	bare bool // only identities, and the name is required
}

func (l *listed) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = listschema.Schema{Attributes: map[string]listschema.Attribute{"name": listschema.StringAttribute{Optional: !l.bare, Required: l.bare}}}
}

func (l *listed) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
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
		if req.IncludeResource && !l.bare {
			value, err := toValue(o, req.ResourceSchema.Type().TerraformType(ctx))
			fail(&result.Diagnostics, err)
			result.Resource.Raw = value
		}
		results = append(results, result)
	}
	if text := l.client.Warning("warning-list"); text != "" {
		part := list.ListResult{}
		part.Diagnostics.AddWarning(text, "")
		results = append(results, part)
	}
	stream.Results = slices.Values(results)
}
