// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	tfschema "github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// Limits of how many deprecated fields status lists, of one kind and of all together: an object of the API has about a megabyte.
const (
	mostDeprecated      = 64
	mostDeprecatedOfAll = 1000
)

// addServed also lists the deprecated fields. A policy of the API server, which has TerraformProviders as its parameters, warns of them: so the
// controllers need no right to write policies, with which they could block or open the whole API.
func addServed(all []v1alpha1.ServedKind, served v1alpha1.ServedKind, s *tfschema.Schema) []v1alpha1.ServedKind {
	most := mostDeprecatedOfAll
	for _, k := range all {
		most -= len(k.Deprecated)
	}
	deprecated := kinds.Deprecations(s)
	for _, d := range deprecated[:min(len(deprecated), mostDeprecated, most)] {
		served.Deprecated = append(served.Deprecated, v1alpha1.DeprecatedField{Field: d.Path, Message: d.Message})
	}
	return append(all, served)
}
