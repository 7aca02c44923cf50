// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crds embeds the custom resource definition of the measurements' kind. The YAML file is generated from the type.
package crds

import "embed"

// FS holds one YAML file per custom resource definition.
//
//go:embed *.yaml
var FS embed.FS
