// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terraform is the provider of TerraformProviders, which make resource types of Terraform providers managed kinds.
package terraform

import (
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/terraform/apis"
	"github.com/bowline-dev/bowline/providers/terraform/apis/crds"
	"github.com/bowline-dev/bowline/providers/terraform/classes"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// Provider returns the definition of the provider. The options are read when its controllers are set up.
func Provider(o *controller.Options) provider.Provider {
	return provider.Provider{
		Name:        "terraform",
		CRDs:        crds.FS,
		AddToScheme: apis.AddToScheme,
		Classes:     classes.Classes(),
		ExtraRules:  controller.Rules(),
		Extend: func(s *provider.Setup) error {
			r, err := controller.New(s, *o)
			if err != nil {
				return err
			}
			return r.Start()
		},
		Discover: o.Discover,
	}
}
