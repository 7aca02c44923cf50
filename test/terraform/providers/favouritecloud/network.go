// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// networks are favouritecloud_network. The cloud chooses their ids, and each create creates another: after a lost answer, only a list by
// labels finds a network.
type networks struct{ client *client }

type network struct {
	ID          types.String `tfsdk:"id"`
	CIDRBlock   types.String `tfsdk:"cidr_block"`
	Description types.String `tfsdk:"description"`
	DNSServers  types.List   `tfsdk:"dns_servers"`
	MTU         types.Int64  `tfsdk:"mtu"`
	Labels      types.Map    `tfsdk:"labels"`
	Status      types.String `tfsdk:"status"`
}

// A record is a network in requests and answers.
type record struct {
	ID          string            `json:"id,omitempty"`
	CIDRBlock   string            `json:"cidr_block,omitempty"`
	Description string            `json:"description"`
	DNSServers  []string          `json:"dns_servers"`
	MTU         int64             `json:"mtu"`
	Labels      map[string]string `json:"labels"`
	Status      string            `json:"status,omitempty"`
}

const defaultMTU = 1500

func (r *networks) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "favouritecloud_network"
}

func (r *networks) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.client, _ = req.ProviderData.(*client) // nil before the provider is configured
}

func (r *networks) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "A private network.",
		Attributes: map[string]schema.Attribute{
			"id":          schema.StringAttribute{Computed: true, PlanModifiers: keep(), Description: "Chosen by the cloud."},
			"cidr_block":  schema.StringAttribute{Required: true, PlanModifiers: replace(), Description: "The addresses, which never change."},
			"description": schema.StringAttribute{Optional: true, Description: "A text for people."},
			"dns_servers": schema.ListAttribute{Optional: true, ElementType: types.StringType, Description: "At most 8 addresses."},
			"mtu":         schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(defaultMTU), Description: "Default: 1500."},
			"labels":      schema.MapAttribute{Optional: true, ElementType: types.StringType, Description: "Labels, for searches."},
			"status":      schema.StringAttribute{Computed: true, PlanModifiers: keep()},
		},
	}
}

func (r *networks) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{"id": identityschema.StringAttribute{RequiredForImport: true}},
	}
}

func (r *networks) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var planned network
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	in, problems := planned.record(ctx)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	in.CIDRBlock = planned.CIDRBlock.ValueString()
	var found record
	if err := r.client.call(ctx, http.MethodPost, "networks", "", in, &found); err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	resp.Diagnostics.Append(planned.set(ctx, found)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &planned)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), planned.ID)...)
}

func (r *networks) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state network
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	var found record
	err := r.client.call(ctx, http.MethodGet, networkPath(state.ID), "", nil, &found)
	if isNotFound(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	resp.Diagnostics.Append(state.set(ctx, found)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), state.ID)...)
}

func (r *networks) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var planned network
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	change, problems := planned.record(ctx)
	resp.Diagnostics.Append(problems...)
	if resp.Diagnostics.HasError() {
		return
	}
	var found record
	if err := r.client.call(ctx, http.MethodPatch, networkPath(planned.ID), "", change, &found); err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	resp.Diagnostics.Append(planned.set(ctx, found)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &planned)...)
}

func (r *networks) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state network
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if err := r.client.call(ctx, http.MethodDelete, networkPath(state.ID), "", nil, &record{}); !isNotFound(err) {
		fail(&resp.Diagnostics, err)
	}
}

// ImportState imports a network by its id.
func (r *networks) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("id"), path.Root("id"), req, resp)
}

func networkPath(id types.String) string { return "networks/" + url.PathEscape(id.ValueString()) }

// record returns what can be changed, with an empty value for what is not configured.
func (n *network) record(ctx context.Context) (record, diag.Diagnostics) {
	out := record{Description: n.Description.ValueString(), MTU: n.MTU.ValueInt64()}
	problems := n.DNSServers.ElementsAs(ctx, &out.DNSServers, false)
	problems.Append(n.Labels.ElementsAs(ctx, &out.Labels, false)...)
	if out.DNSServers == nil {
		out.DNSServers = []string{}
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	return out, problems
}

// set takes over what the cloud returned.
func (n *network) set(ctx context.Context, found record) (problems diag.Diagnostics) {
	n.ID, n.CIDRBlock, n.MTU, n.Status = text(found.ID), text(found.CIDRBlock), types.Int64Value(found.MTU), text(found.Status)
	if found.Description != n.Description.ValueString() {
		n.Description = text(found.Description)
	}
	if len(found.DNSServers) > 0 {
		n.DNSServers, problems = types.ListValueFrom(ctx, types.StringType, found.DNSServers)
	} else if len(n.DNSServers.Elements()) > 0 {
		n.DNSServers = types.ListNull(types.StringType)
	}
	var more diag.Diagnostics
	n.Labels, more = labels(ctx, n.Labels, found.Labels)
	return append(problems, more...)
}

// A networkList lists networks for the protocol's ListResource, all or those with labels.
type networkList struct{ networks }

func (l *networkList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = listschema.Schema{Attributes: map[string]listschema.Attribute{
		"labels": listschema.MapAttribute{Optional: true, ElementType: types.StringType, Description: "Networks must have all of these."},
	}}
}

func (l *networkList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var wanted map[string]string
	problems := req.Config.GetAttribute(ctx, path.Root("labels"), &wanted)
	query := url.Values{}
	for key, value := range wanted {
		query.Add("label", key+"="+value)
	}
	var answer struct{ Networks []record }
	fail(&problems, l.client.call(ctx, http.MethodGet, "networks?"+query.Encode(), "", nil, &answer))
	if problems.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(problems)
		return
	}
	var results []list.ListResult
	for _, found := range answer.Networks {
		result := req.NewListResult(ctx)
		result.DisplayName = found.ID
		result.Diagnostics.Append(result.Identity.SetAttribute(ctx, path.Root("id"), found.ID)...)
		if req.IncludeResource {
			var state network
			state.DNSServers, state.Labels = types.ListNull(types.StringType), types.MapNull(types.StringType)
			result.Diagnostics.Append(state.set(ctx, found)...)
			result.Diagnostics.Append(result.Resource.Set(ctx, &state)...)
		}
		results = append(results, result)
	}
	stream.Results = slices.Values(results)
}
