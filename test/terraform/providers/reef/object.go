// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reef

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

// A kind is a resource type whose objects the vendor stores as they are in states.
type kind struct {
	name   string
	schema schema.Schema
	// stateOnly lists attributes that the vendor never stores.
	stateOnly []string
	// writeOnly is an attribute that only the vendor stores: it changes with the attribute of its name and _version.
	writeOnly string
	// complete sets what the vendor chooses. old is nil for a new object.
	complete func(c *client, o, old disk.Object)
	// returned changes what a create, an update or a read returns to Terraform, but not what the vendor stores.
	returned func(verb string, o disk.Object)
}

// An object is the resource of a kind.
type object struct {
	kind
	client *client
}

func (r *object) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = r.name
}

func (r *object) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.schema
}

func (r *object) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.client, _ = req.ProviderData.(*client) // nil before the provider is configured
}

func (r *object) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	planned, secret, err := r.planned(req.Plan, req.Config)
	if err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	ctx, cancel := limit(ctx, planned, "create")
	defer cancel()
	id, err := r.client.Create(ctx, r.name, func(id string) disk.Object {
		planned["id"] = id
		r.complete(r.client, planned, nil)
		return r.stored(planned, secret)
	})
	fail(&resp.Diagnostics, err)
	switch {
	case id == "": // nothing exists, as far as the provider knows
	case err != nil && !disk.IsWhole(err):
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), id)...)
	default:
		r.setState(&resp.State, &resp.Diagnostics, "create", planned)
		switch planned["mode"] {
		case "null_state":
			resp.State.RemoveResource(ctx)
		case "leak":
			resp.Diagnostics.AddError("Cannot register "+planned["secret"].(string), "")
		}
	}
}

func (r *object) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	prior, err := toObject(req.State.Raw)
	if err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	id, _ := prior["id"].(string)
	found, err := r.client.Read(ctx, r.name, id)
	if errors.Is(err, disk.ErrNotFound) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	for _, name := range r.stateOnly {
		found[name] = prior[name]
	}
	r.setState(&resp.State, &resp.Diagnostics, "read", found)
	if text := r.client.Warning("warning"); text != "" {
		resp.Diagnostics.AddWarning(text, "")
	}
}

func (r *object) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	prior, errPrior := toObject(req.State.Raw)
	planned, secret, err := r.planned(req.Plan, req.Config)
	if err := errors.Join(errPrior, err); err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	ctx, cancel := limit(ctx, planned, "update")
	defer cancel()
	id, _ := prior["id"].(string)
	version := r.writeOnly + "_version"
	changed, err := r.client.Update(ctx, r.name, id, func(old disk.Object) disk.Object {
		planned["id"] = id
		r.complete(r.client, planned, old)
		if planned[version] == prior[version] {
			secret = old[r.writeOnly]
		}
		return r.stored(planned, secret)
	})
	fail(&resp.Diagnostics, err)
	if changed {
		r.setState(&resp.State, &resp.Diagnostics, "update", planned)
	}
}

func (r *object) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	prior, err := toObject(req.State.Raw)
	if err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	ctx, cancel := limit(ctx, prior, "delete")
	defer cancel()
	id, _ := prior["id"].(string)
	fail(&resp.Diagnostics, r.client.Delete(ctx, r.name, id))
}

// planned returns the plan, and the value of the write-only attribute, which only the configuration has.
func (r *object) planned(plan tfsdk.Plan, config tfsdk.Config) (o disk.Object, secret any, err error) {
	configured, errConfig := toObject(config.Raw)
	o, err = toObject(plan.Raw)
	return o, configured[r.writeOnly], errors.Join(errConfig, err)
}

// stored returns what the vendor keeps of a state.
func (r *object) stored(state disk.Object, secret any) disk.Object {
	o := maps.Clone(state)
	for _, name := range r.stateOnly {
		delete(o, name)
	}
	if r.writeOnly != "" {
		o[r.writeOnly] = secret
	}
	return o
}

func (r *object) setState(state *tfsdk.State, diagnostics *diag.Diagnostics, verb string, o disk.Object) {
	if r.writeOnly != "" {
		o[r.writeOnly] = nil
	}
	if r.returned != nil {
		r.returned(verb, o)
	}
	value, err := toValue(o, state.Schema.Type().TerraformType(context.Background()))
	if err != nil {
		fail(diagnostics, err)
		return
	}
	state.Raw = value
}

// An importable is an object that can be imported by its id, or by its name.
type importable struct{ object }

func (r *importable) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var err error
	req.ID, err = r.client.Find(ctx, r.name, req.ID)
	if err != nil {
		fail(&resp.Diagnostics, err)
		return
	}
	resource.ImportStatePassthroughID(ctx, path.Root("id"), req, resp)
}

// limit returns a context that ends after the time in the attribute timeouts.
func limit(ctx context.Context, o disk.Object, verb string) (context.Context, context.CancelFunc) {
	limits, _ := o["timeouts"].(map[string]any)
	text, _ := limits[verb].(string)
	if after, err := time.ParseDuration(text); err == nil {
		return context.WithTimeout(ctx, after)
	}
	return ctx, func() {}
}

// timeouts is the attribute that limit reads.
func timeouts() schema.Attribute {
	limit := schema.StringAttribute{Optional: true, Description: "A duration such as 30s."}
	return schema.SingleNestedAttribute{
		Optional:    true,
		Description: "How long calls of the vendor may take.",
		Attributes:  map[string]schema.Attribute{"create": limit, "update": limit, "delete": limit},
	}
}

func fail(diagnostics *diag.Diagnostics, err error) {
	if err != nil {
		diagnostics.AddError("The vendor has failed", err.Error())
	}
}
