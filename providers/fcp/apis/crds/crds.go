// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crds embeds the custom resource definitions of the favourite cloud's provider, so that server, command line
// and tests install the same bytes. The YAML files are generated from the types.
package crds

import "embed"

// FS holds one YAML file per custom resource definition.
//
//go:embed *.yaml
var FS embed.FS
