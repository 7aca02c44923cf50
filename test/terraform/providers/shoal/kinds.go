// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package shoal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

const largest = 1000

func berth() *schema.Resource {
	limit := schema.DefaultTimeout(time.Minute)
	k := kind{name: "shoal_berth", stateOnly: []string{"password"}, complete: completeBerth}
	return k.resource(&schema.Resource{
		Description: "A place in the harbour.",
		Schema: map[string]*schema.Schema{
			"name":     {Type: schema.TypeString, Required: true, ForceNew: true, Description: "The name, which never changes."},
			"size":     {Type: schema.TypeInt, Optional: true, Default: 1, Description: "Default: 1. A berth is replaced to make it smaller."},
			"tags":     {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"notes":    {Type: schema.TypeString, Optional: true, Deprecated: "Use tags."},
			"ready_at": {Type: schema.TypeString, Computed: true},
			"address":  {Type: schema.TypeString, Computed: true, Description: "It changes with the size."},
			"password": {
				Type: schema.TypeString, Optional: true, Computed: true, Sensitive: true,
				Description: "Generated if it is not configured. The vendor does not return it: it is in the state only.",
			},
		},
		Timeouts:      &schema.ResourceTimeout{Create: limit, Update: limit, Delete: limit},
		CustomizeDiff: customizeBerth,
	})
}

// customizeBerth is what only a plan shows.
func customizeBerth(_ context.Context, d *schema.ResourceDiff, _ any) error {
	before, after := d.GetChange("size")
	if after.(int) > largest {
		return fmt.Errorf("size is %d: at most %d is possible", after, largest)
	}
	if d.Id() == "" || before == after {
		return nil
	}
	err := d.SetNewComputed("address")
	if after.(int) < before.(int) {
		err = errors.Join(err, d.ForceNew("size"))
	}
	return err
}

func completeBerth(c *client, o, old disk.Object) {
	if o["ready_at"] = old["ready_at"]; old == nil {
		o["ready_at"] = time.Now().UTC().Format(time.RFC3339)
	}
	o["address"] = fmt.Sprintf("%s.%v.%s", o["id"], o["size"], c.endpoint)
	if o["password"] == "" {
		o["password"] = rand.Text()
	}
}

// chart has all sorts of nested blocks.
func chart() *schema.Resource {
	k := kind{name: "shoal_chart", writeOnly: "secret_wo", complete: completeChart}
	nested := func(fields map[string]*schema.Schema) *schema.Resource { return &schema.Resource{Schema: fields} }
	return k.resource(&schema.Resource{
		Description: "A map of the sea.",
		Schema: map[string]*schema.Schema{
			"title":             {Type: schema.TypeString, Required: true},
			"revision":          {Type: schema.TypeString, Optional: true, Computed: true, Description: "Chosen once if it is not configured."},
			"scale":             {Type: schema.TypeFloat, Optional: true},
			"languages":         {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"secret_wo":         {Type: schema.TypeString, Optional: true, WriteOnly: true, Sensitive: true, Description: "Sent when its version changes."},
			"secret_wo_version": {Type: schema.TypeInt, Optional: true},
			"layer": {Type: schema.TypeList, Optional: true, Elem: nested(map[string]*schema.Schema{
				"name":     {Type: schema.TypeString, Required: true},
				"colour":   {Type: schema.TypeString, Optional: true, Default: "blue", Description: "Default: blue."},
				"token":    {Type: schema.TypeString, Optional: true, Sensitive: true},
				"checksum": {Type: schema.TypeString, Computed: true},
				"point": {Type: schema.TypeList, Optional: true, MaxItems: 3, Elem: nested(map[string]*schema.Schema{
					"x": {Type: schema.TypeInt, Required: true}, "y": {Type: schema.TypeInt, Required: true},
				})},
			})},
			"buoy": {Type: schema.TypeSet, Optional: true, Elem: nested(map[string]*schema.Schema{
				"colour": {Type: schema.TypeString, Optional: true},
				"light": {Type: schema.TypeSet, Optional: true, Elem: nested(map[string]*schema.Schema{
					"period": {Type: schema.TypeInt, Optional: true},
				})},
			})},
			"legend": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: nested(map[string]*schema.Schema{
				"text": {Type: schema.TypeString, Required: true}, "size": {Type: schema.TypeInt, Optional: true, Default: 12},
			})},
		},
	})
}

func completeChart(_ *client, o, _ disk.Object) {
	if o["revision"] == "" {
		o["revision"] = "r1"
	}
	for _, layer := range o["layer"].([]any) {
		layer := layer.(map[string]any)
		layer["checksum"] = "sum-" + layer["name"].(string)
	}
}

// anchor refers to a berth, which the vendor does not delete before it.
func anchor() *schema.Resource {
	k := kind{name: "shoal_anchor", complete: func(*client, disk.Object, disk.Object) {}}
	return k.resource(&schema.Resource{Schema: map[string]*schema.Schema{
		"berth_id": {Type: schema.TypeString, Required: true, ForceNew: true},
		"weight":   {Type: schema.TypeInt, Optional: true},
	}})
}

// pier has no secrets.
func pier() *schema.Resource {
	k := kind{name: "shoal_pier", complete: func(c *client, o, _ disk.Object) { o["address"] = fmt.Sprintf("%s.%s", o["id"], c.endpoint) }}
	return k.resource(&schema.Resource{Schema: map[string]*schema.Schema{
		"name":    {Type: schema.TypeString, Required: true, ForceNew: true},
		"tags":    {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
		"address": {Type: schema.TypeString, Computed: true},
		"metadata": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"labels": {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
		}}},
	}})
}

// beacon has a secret that the vendor returns.
func beacon() *schema.Resource {
	k := kind{name: "shoal_beacon", complete: completeBeacon}
	return k.resource(&schema.Resource{Schema: map[string]*schema.Schema{
		"name": {Type: schema.TypeString, Required: true, ForceNew: true},
		"tags": {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
		"code": {Type: schema.TypeString, Computed: true, Sensitive: true},
	}})
}

func completeBeacon(_ *client, o, old disk.Object) {
	if o["code"] = old["code"]; old == nil {
		o["code"] = rand.Text()
	}
}
