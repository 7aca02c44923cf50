// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package shoal

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

// A kind is a resource type whose objects the vendor stores as they are in states.
type kind struct {
	name string
	// stateOnly lists attributes that the vendor never stores.
	stateOnly []string
	// writeOnly is an attribute that only the vendor stores: it changes with the attribute of its name and _version.
	writeOnly string
	// complete sets what the vendor chooses. old is nil for a new object.
	complete func(c *client, o, old disk.Object)
}

// resource adds the calls to a schema.
func (k kind) resource(r *schema.Resource) *schema.Resource {
	names := make([]string, 0, len(r.Schema))
	for name := range r.Schema {
		names = append(names, name)
	}
	r.CreateContext = func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
		return k.create(ctx, d, meta, names)
	}
	r.ReadContext = func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
		return k.read(ctx, d, meta, names)
	}
	r.UpdateContext = func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
		return k.update(ctx, d, meta, names)
	}
	r.DeleteContext = func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
		return diag.FromErr(meta.(*client).Delete(ctx, k.name, d.Id()))
	}
	r.Importer = &schema.ResourceImporter{StateContext: func(ctx context.Context, d *schema.ResourceData, meta any) ([]*schema.ResourceData, error) {
		id, err := meta.(*client).Find(ctx, k.name, d.Id())
		d.SetId(id)
		return []*schema.ResourceData{d}, err
	}}
	return r
}

// create returns an error with the id, if the object exists: Terraform then takes it as tainted.
func (k kind) create(ctx context.Context, d *schema.ResourceData, meta any, names []string) diag.Diagnostics {
	c := meta.(*client)
	planned := k.planned(d, names)
	id, err := c.Create(ctx, k.name, func(id string) disk.Object {
		planned["id"] = id
		k.complete(c, planned, nil)
		return k.stored(planned, k.secret(d))
	})
	d.SetId(id)
	if disk.IsWhole(err) {
		return append(k.set(d, planned, names), diag.FromErr(err)...)
	}
	if err != nil {
		return diag.FromErr(err)
	}
	all := append(k.set(d, planned, k.stateOnly), k.read(ctx, d, meta, names)...)
	if c.Warning("forgets") != "" { // what it created, without an error
		d.SetId("")
	}
	return all
}

func (k kind) read(ctx context.Context, d *schema.ResourceData, meta any, names []string) diag.Diagnostics {
	found, err := meta.(*client).Read(ctx, k.name, d.Id())
	if errors.Is(err, disk.ErrNotFound) {
		d.SetId("")
		return nil
	}
	if err != nil {
		return diag.FromErr(err)
	}
	return append(meta.(*client).warning("warning"), k.set(d, found, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(k.stateOnly, name) }))...)
}

// update has the state of before after an error, unless the object was changed: the SDK would store the planned one.
func (k kind) update(ctx context.Context, d *schema.ResourceData, meta any, names []string) diag.Diagnostics {
	c := meta.(*client)
	planned := k.planned(d, names)
	changed, err := c.Update(ctx, k.name, d.Id(), func(old disk.Object) disk.Object {
		planned["id"] = d.Id()
		k.complete(c, planned, old)
		secret := old[k.writeOnly]
		if k.writeOnly != "" && d.HasChange(k.writeOnly+"_version") {
			secret = k.secret(d)
		}
		return k.stored(planned, secret)
	})
	if err != nil {
		d.Partial(!changed)
		return diag.FromErr(err)
	}
	return append(k.set(d, planned, k.stateOnly), k.read(ctx, d, meta, names)...)
}

// planned returns all attributes and blocks as JSON has them.
func (k kind) planned(d *schema.ResourceData, names []string) disk.Object {
	o := disk.Object{}
	for _, name := range names {
		if name != k.writeOnly {
			o[name] = plain(d.Get(name))
		}
	}
	return o
}

// secret returns the value of the write-only attribute, which only the configuration has.
func (k kind) secret(d *schema.ResourceData) any {
	if k.writeOnly == "" {
		return nil
	}
	value, _ := d.GetRawConfigAt(cty.GetAttrPath(k.writeOnly)) // errors are those of the schema
	if !value.IsKnown() || value.IsNull() {
		return nil
	}
	return value.AsString()
}

// stored returns what the vendor keeps of a state.
func (k kind) stored(state disk.Object, secret any) disk.Object {
	o := disk.Object{}
	for name, value := range state {
		if !slices.Contains(k.stateOnly, name) {
			o[name] = value
		}
	}
	if k.writeOnly != "" {
		o[k.writeOnly] = secret
	}
	return o
}

func (k kind) set(d *schema.ResourceData, o disk.Object, names []string) diag.Diagnostics {
	var errs []error
	for _, name := range names {
		if name != k.writeOnly {
			errs = append(errs, d.Set(name, o[name]))
		}
	}
	return diag.FromErr(errors.Join(errs...))
}

// plain replaces sets by lists.
func plain(value any) any {
	switch value := value.(type) {
	case *schema.Set:
		return plain(value.List())
	case []any:
		items := make([]any, 0, len(value))
		for _, item := range value {
			items = append(items, plain(item))
		}
		return items
	case map[string]any:
		items := map[string]any{}
		for key, item := range value {
			items[key] = plain(item)
		}
		return items
	}
	return value
}
