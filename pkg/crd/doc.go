// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd installs custom resource definitions without harming what is there.
//
// Load reads the definitions that a program embeds, Apply brings them to an API server by server-side apply: one read for
// each that is up to date, one write for each that is not. A definition that somebody else installed under the same name
// is left alone, and so is one whose update would stop serving a version that objects or clients may still use; the
// Report says so, because whoever starts the program should tell.
//
//	//go:embed crds/*.yaml
//	var files embed.FS
//
//	crds, err := crd.Load(files)
//	report, err := crd.Apply(ctx, cfg, crds...)
package crd
