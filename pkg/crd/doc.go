// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd installs custom resource definitions without overwriting those of others.
//
// Load reads the definitions that a program embeds. Apply brings them to an API server by server-side apply: one read for each
// that is up to date, one write for each that is not. It skips definitions that somebody else installed, and updates that
// would stop serving a version that objects or clients may still use; the Report names them.
//
//	//go:embed crds/*.yaml
//	var files embed.FS
//
//	crds, err := crd.Load(files)
//	report, err := crd.Apply(ctx, cfg, crds...)
package crd
