// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reef is a Terraform provider for tests, of protocol 6 and on terraform-plugin-framework. Its vendor is package disk, where tests
// read what it did and say what goes wrong next.
package reef

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
)

// New returns the provider.
func New() provider.Provider { return &reef{} }

type reef struct{}

// A client is what the provider's configuration gives to its resources.
type client struct {
	*disk.Vendor
	endpoint string
}

func (*reef) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "reef", "1.0.0"
}

func (*reef) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "A provider for tests, whose objects are files.",
		Attributes: map[string]schema.Attribute{
			"folder":   schema.StringAttribute{Optional: true, Description: "The folder of the vendor. Default: REEF_FOLDER; one is needed."},
			"token":    schema.StringAttribute{Optional: true, Sensitive: true, Description: "The token of the vendor. Default: REEF_TOKEN."},
			"endpoint": schema.StringAttribute{Optional: true, Description: "The domain of berths. Default: reef.example."},
			"leak":     schema.BoolAttribute{Optional: true, Description: "Whether errors contain the token."},
		},
		Blocks: map[string]schema.Block{
			"retry": schema.SingleNestedBlock{
				Description: "How calls are repeated. It is written to the log of calls, and has no other effect.",
				Attributes:  map[string]schema.Attribute{"attempts": schema.Int64Attribute{Optional: true}},
			},
		},
	}
}

func (*reef) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config struct {
		Folder   types.String `tfsdk:"folder"`
		Token    types.String `tfsdk:"token"`
		Endpoint types.String `tfsdk:"endpoint"`
		Leak     types.Bool   `tfsdk:"leak"`
		Retry    *struct {
			Attempts types.Int64 `tfsdk:"attempts"`
		} `tfsdk:"retry"`
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c := &client{
		Vendor: &disk.Vendor{
			Folder: or(config.Folder, os.Getenv("REEF_FOLDER")), Token: or(config.Token, os.Getenv("REEF_TOKEN")), Leak: config.Leak.ValueBool(),
		},
		endpoint: or(config.Endpoint, "reef.example"),
	}
	if c.Folder == "" {
		resp.Diagnostics.AddAttributeError(path.Root("folder"), "No folder", "Set folder, or REEF_FOLDER in the environment.")
		return
	}
	attempts := int64(1)
	if config.Retry != nil {
		attempts = config.Retry.Attempts.ValueInt64()
	}
	if err := c.Log("configure", "reef", fmt.Sprintf("endpoint=%s,attempts=%d", c.endpoint, attempts)); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("folder"), "No folder", err.Error())
	}
	if text := c.Warning("warning-configure"); text != "" {
		resp.Diagnostics.AddWarning(text, "")
	}
	resp.ResourceData, resp.ListResourceData = c, c
}

func or(value types.String, other string) string {
	if value.ValueString() == "" {
		return other
	}
	return value.ValueString()
}

func (*reef) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (*reef) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &berths{berth()} },
		func() resource.Resource { return new(mooring()) },
		func() resource.Resource { return &importable{object{kind: chart()}} },
		func() resource.Resource { return &importable{object{kind: anchor()}} },
		func() resource.Resource { return &importable{object{kind: pier()}} },
		func() resource.Resource { return &importable{object{kind: beacon()}} },
		func() resource.Resource { return &upgraded{importable{object{kind: upgradedKind()}}} },
		func() resource.Resource { return &importable{object{kind: faulty()}} },
		func() resource.Resource { return &mirrors{} },
	}
}

func (*reef) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{
		func() list.ListResource { return &listed{identified: berth()} },
		func() list.ListResource { return &listed{identified: mooring(), bare: true} },
	}
}
