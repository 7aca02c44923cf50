// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command terraform-provider-reef is a Terraform provider for tests: package reef describes it.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/bowline-dev/bowline/test/terraform/providers/reef"
)

func main() {
	opts := providerserver.ServeOpts{Address: "registry.terraform.io/bowline-dev/reef"}
	if err := providerserver.Serve(context.Background(), reef.New, opts); err != nil {
		log.Fatal(err)
	}
}
