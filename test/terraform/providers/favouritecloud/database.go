// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// databases are favouritecloud_database. Their password is in the state only: the cloud returns it once.
type databases struct{ client *client }

type database struct {
	ID             types.String `tfsdk:"id"`
	Name           types.String `tfsdk:"name"`
	FancinessLevel types.Int64  `tfsdk:"fanciness_level"`
	Version        types.String `tfsdk:"version"`
	Password       types.String `tfsdk:"password"`
	Labels         types.Map    `tfsdk:"labels"`
	IdempotencyKey types.String `tfsdk:"idempotency_key"`
	Hostname       types.String `tfsdk:"hostname"`
	Port           types.Int64  `tfsdk:"port"`
	Username       types.String `tfsdk:"username"`
	Status         types.String `tfsdk:"status"`
}

// An instance is a database in requests and answers.
type instance struct {
	Name           string            `json:"name,omitempty"`
	FancinessLevel int64             `json:"fanciness_level,omitempty"`
	Version        string            `json:"version,omitempty"`
	Password       string            `json:"password,omitempty"`
	Labels         map[string]string `json:"labels,omitzero"`
	Hostname       string            `json:"hostname,omitempty"`
	Port           int64             `json:"port,omitempty"`
	Username       string            `json:"username,omitempty"`
	Status         string            `json:"status,omitempty"`
	Reason         string            `json:"message,omitempty"`
}

const online = "ONLINE"

func (r *databases) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "favouritecloud_database"
}

func (r *databases) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.client, _ = req.ProviderData.(*client) // nil before the provider is configured
}

func (r *databases) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "A PostgreSQL server.",
		Attributes: map[string]schema.Attribute{
			"id":              schema.StringAttribute{Computed: true, PlanModifiers: keep(), Description: "The name."},
			"name":            schema.StringAttribute{Required: true, PlanModifiers: replace(), Description: "The name, which never changes."},
			"fanciness_level": schema.Int64Attribute{Required: true, Description: "The number of connections, 10 to 1000."},
			"version": schema.StringAttribute{
				Optional: true, Computed: true, Description: "The major version of PostgreSQL. Default: the cloud's choice.",
				PlanModifiers: append(keep(), stringplanmodifier.RequiresReplaceIfConfigured()),
			},
			"password": schema.StringAttribute{
				Optional: true, Computed: true, Sensitive: true, PlanModifiers: keep(),
				Description: "The password of the superuser. It is generated if it is not configured.",
			},
			"labels": schema.MapAttribute{Optional: true, ElementType: types.StringType, Description: "Labels, for searches."},
			"idempotency_key": schema.StringAttribute{Optional: true, Description: "A create that is repeated with the same key returns the same " +
				"database with its password, while it exists. Later changes have no effect. Default: a random key for each create."},
			"hostname": schema.StringAttribute{Computed: true, PlanModifiers: keep(), Description: "The host of the server."},
			"port":     schema.Int64Attribute{Computed: true, Description: "The port of the server."},
			"username": schema.StringAttribute{Computed: true, PlanModifiers: keep(), Description: "The name of the superuser."},
			"status":   schema.StringAttribute{Computed: true, Description: "The status at the last look."},
		},
	}
}

// Create returns the state as soon as the database exists, with an error where it is not online in time: the password would be lost.
func (r *databases) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var planned database
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	in := instance{
		Name: planned.Name.ValueString(), FancinessLevel: planned.FancinessLevel.ValueInt64(), Version: planned.Version.ValueString(),
		Password: planned.Password.ValueString(),
	}
	resp.Diagnostics.Append(planned.Labels.ElementsAs(ctx, &in.Labels, false)...)
	if resp.Diagnostics.HasError() {
		return
	}
	key := planned.IdempotencyKey.ValueString()
	if key == "" {
		key = rand.Text()
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	var found instance
	if err := r.client.call(ctx, http.MethodPost, "database/instances", key, in, &found); err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	planned.Password = types.StringValue(found.Password)
	fail(&resp.Diagnostics, r.awaitOnline(ctx, in.Name, &found))
	resp.Diagnostics.Append(planned.set(ctx, found)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &planned)...)
}

func (r *databases) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state database
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	var found instance
	err := r.client.call(ctx, http.MethodGet, instancePath(state.ID), "", nil, &found)
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
}

func (r *databases) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var prior, planned database
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	change := instance{FancinessLevel: planned.FancinessLevel.ValueInt64(), Labels: map[string]string{}}
	resp.Diagnostics.Append(planned.Labels.ElementsAs(ctx, &change.Labels, false)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if change.Labels == nil { // the labels are removed: no labels are no change
		change.Labels = map[string]string{}
	}
	if !planned.Password.Equal(prior.Password) {
		change.Password = planned.Password.ValueString()
	}
	if planned.Password.IsUnknown() { // after an import
		planned.Password = prior.Password
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	var found instance
	if err := r.client.call(ctx, http.MethodPatch, instancePath(prior.ID), "", change, &found); err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	fail(&resp.Diagnostics, r.awaitOnline(ctx, prior.ID.ValueString(), &found))
	resp.Diagnostics.Append(planned.set(ctx, found)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &planned)...)
}

func (r *databases) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state database
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	fail(&resp.Diagnostics, await(ctx, func() (bool, string, error) {
		err := r.client.call(ctx, http.MethodDelete, instancePath(state.ID), "", nil, &instance{})
		if isNotFound(err) {
			return true, "", nil
		}
		return false, "DELETING", err
	}))
}

// ImportState imports a database by its name.
func (r *databases) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), req, resp)
}

// awaitOnline sets found to the database when it is online, or to what it is when ctx ends. The cloud repeats what fails.
func (r *databases) awaitOnline(ctx context.Context, name string, found *instance) error {
	return await(ctx, func() (bool, string, error) {
		var now instance
		if err := r.client.call(ctx, http.MethodGet, instancePath(types.StringValue(name)), "", nil, &now); err != nil {
			return false, "", fmt.Errorf("waiting for database %s: %w", name, err)
		}
		*found = now
		return now.Status == online, now.Status + " " + now.Reason, nil
	})
}

func instancePath(id types.String) string {
	return "database/instances/" + url.PathEscape(id.ValueString())
}

func keep() []planmodifier.String {
	return []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
}

func replace() []planmodifier.String {
	return []planmodifier.String{stringplanmodifier.RequiresReplace()}
}

// set takes over what the cloud returned. What it does not return is unset, or is in the state only.
func (d *database) set(ctx context.Context, found instance) (problems diag.Diagnostics) {
	d.ID, d.Name, d.FancinessLevel = types.StringValue(found.Name), types.StringValue(found.Name), types.Int64Value(found.FancinessLevel)
	d.Version, d.Hostname, d.Port = text(found.Version), text(found.Hostname), types.Int64Null()
	if found.Port != 0 {
		d.Port = types.Int64Value(found.Port)
	}
	d.Username, d.Status = text(found.Username), text(found.Status)
	d.Labels, problems = labels(ctx, d.Labels, found.Labels)
	return problems
}

// text is null where the cloud returned nothing.
func text(value string) types.String {
	if value == "" {
		return types.StringNull()
	}
	return types.StringValue(value)
}

// labels keeps an empty map, which the cloud does not tell from none.
func labels(ctx context.Context, prior types.Map, found map[string]string) (types.Map, diag.Diagnostics) {
	if len(found) == 0 && len(prior.Elements()) == 0 && !prior.IsUnknown() && !prior.IsNull() {
		return prior, nil
	}
	if len(found) == 0 {
		return types.MapNull(types.StringType), nil
	}
	return types.MapValueFrom(ctx, types.StringType, found)
}
