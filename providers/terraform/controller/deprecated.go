// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	tfschema "github.com/bowline-dev/bowline/pkg/terraform/schema"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// mostDeprecated is how many fields of a kind status lists.
const mostDeprecated = 64

// servedKind also lists the deprecated fields. A policy of the API server, which has TerraformProviders as its parameters, warns of them: so the
// controllers need no right to write policies, with which they could block or open the whole API.
func servedKind(resourceType, kind string, s *tfschema.Schema) v1alpha1.ServedKind {
	served := v1alpha1.ServedKind{Type: resourceType, Kind: kind}
	for _, d := range kinds.Deprecations(s) {
		if len(served.Deprecated) < mostDeprecated {
			served.Deprecated = append(served.Deprecated, v1alpha1.DeprecatedField{Field: d.Path, Message: d.Message})
		}
	}
	return served
}
