// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command terraform-provider-favouritecloud is a Terraform provider for tests: package favouritecloud describes it.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/bowline-dev/bowline/test/terraform/providers/favouritecloud"
)

func main() {
	opts := providerserver.ServeOpts{Address: "registry.terraform.io/bowline-dev/favouritecloud"}
	if err := providerserver.Serve(context.Background(), favouritecloud.New, opts); err != nil {
		log.Fatal(err)
	}
}
