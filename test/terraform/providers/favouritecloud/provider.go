// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package favouritecloud is a Terraform provider of the favourite cloud, of protocol 6 and on terraform-plugin-framework. It has databases and
// networks.
package favouritecloud

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// New returns the provider.
func New() provider.Provider { return &cloud{} }

type cloud struct{}

func (*cloud) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "favouritecloud", "1.0.0"
}

func (*cloud) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "The local cloud of Bowline's tests.",
		Attributes: map[string]schema.Attribute{
			"endpoint": schema.StringAttribute{Optional: true, Description: "The URL of the cloud. Default: FAVOURITECLOUD_ENDPOINT."},
			"key":      schema.StringAttribute{Optional: true, Sensitive: true, Description: "The API key. Default: FAVOURITECLOUD_KEY."},
			"project":  schema.StringAttribute{Optional: true, Description: "The project of the key. Default: FAVOURITECLOUD_PROJECT."},
		},
	}
}

func (*cloud) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config struct {
		Endpoint types.String `tfsdk:"endpoint"`
		Key      types.String `tfsdk:"key"`
		Project  types.String `tfsdk:"project"`
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	value := func(name string, configured types.String, variable string) string {
		text := configured.ValueString()
		if text == "" {
			text = os.Getenv(variable)
		}
		if text == "" {
			resp.Diagnostics.AddAttributeError(path.Root(name), "No "+name, "Set "+name+", or "+variable+" in the environment.")
		}
		return text
	}
	c := &client{
		endpoint: value("endpoint", config.Endpoint, "FAVOURITECLOUD_ENDPOINT"),
		key:      value("key", config.Key, "FAVOURITECLOUD_KEY"),
		project:  value("project", config.Project, "FAVOURITECLOUD_PROJECT"),
	}
	resp.ResourceData, resp.ListResourceData = c, c
}

func (*cloud) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (*cloud) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &databases{} },
		func() resource.Resource { return &networks{} },
	}
}

func (*cloud) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{func() list.ListResource { return &networkList{} }}
}
