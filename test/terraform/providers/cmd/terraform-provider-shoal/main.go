// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command terraform-provider-shoal is a Terraform provider for tests: package shoal describes it.
package main

import (
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"

	"github.com/bowline-dev/bowline/test/terraform/providers/shoal"
)

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: shoal.New, ProviderAddr: "registry.terraform.io/bowline-dev/shoal"})
}
