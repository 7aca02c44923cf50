// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin runs the process of a Terraform provider and speaks with it in values: schemas, configuration, plans and states.
//
//	process, err := plugin.Start(ctx, plugin.Command{Path: binary, Dir: folder})
//	defer process.Close()
//	schemas, err := process.Schemas(ctx, keep)
//	provider, err := schemas.Configure(ctx, process, config)
//	plan, err := provider.Plan(ctx, resource, prior, config)
//	state, err := provider.Apply(ctx, plan)
//
// Errors are wire.Unanswered where the process did not answer, and Diagnostics where the provider refuses.
package plugin
