// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shoal is a Terraform provider for tests, of protocol 5 and on terraform-plugin-sdk. Its vendor is package disk, where tests read
// what it did and say what goes wrong next.
package shoal

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

// A client is what the provider's configuration gives to its resources.
type client struct {
	*disk.Vendor
	endpoint string
}

func (c *client) warning(file string) diag.Diagnostics {
	if text := c.Warning(file); text != "" {
		return diag.Diagnostics{{Severity: diag.Warning, Summary: text}}
	}
	return nil
}

// New returns the provider.
func New() *schema.Provider {
	return &schema.Provider{
		Schema: map[string]*schema.Schema{
			"folder": {
				Type: schema.TypeString, Required: true, DefaultFunc: schema.EnvDefaultFunc("SHOAL_FOLDER", nil),
				Description: "The folder of the vendor. Default: SHOAL_FOLDER; one is needed.",
			},
			"token": {
				Type: schema.TypeString, Optional: true, Sensitive: true, DefaultFunc: schema.EnvDefaultFunc("SHOAL_TOKEN", nil),
				Description: "The token of the vendor. Default: SHOAL_TOKEN.",
			},
			"endpoint": {Type: schema.TypeString, Optional: true, Default: "shoal.example", Description: "The domain of berths."},
			"leak":     {Type: schema.TypeBool, Optional: true, Description: "Whether errors contain the token."},
			"retry": {
				Type: schema.TypeList, Optional: true, MaxItems: 1,
				Description: "How calls are repeated. It is written to the log of calls, and has no other effect.",
				Elem:        &schema.Resource{Schema: map[string]*schema.Schema{"attempts": {Type: schema.TypeInt, Optional: true, Default: 1}}},
			},
		},
		ResourcesMap: map[string]*schema.Resource{
			"shoal_berth": berth(), "shoal_chart": chart(), "shoal_anchor": anchor(), "shoal_pier": pier(), "shoal_beacon": beacon(),
		},
		ConfigureContextFunc: configure,
	}
}

func configure(_ context.Context, d *schema.ResourceData) (any, diag.Diagnostics) {
	text := func(name string) string { return d.Get(name).(string) }
	c := &client{
		Vendor:   &disk.Vendor{Folder: text("folder"), Token: text("token"), Leak: d.Get("leak").(bool)},
		endpoint: text("endpoint"),
	}
	attempts := 1
	if configured, ok := d.GetOk("retry.0.attempts"); ok {
		attempts = configured.(int)
	}
	return c, append(c.warning("warning-configure"), diag.FromErr(c.Log("configure", "shoal", fmt.Sprintf("endpoint=%s,attempts=%d", c.endpoint, attempts)))...)
}
