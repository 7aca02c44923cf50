// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/test/bench/bridge"
	"github.com/bowline-dev/bowline/test/bench/report"
)

const flagPlugins = "--terraform-plugins"

// measureTerraform measures objects of a Terraform provider on each SDK.
func (b *bench) measureTerraform(ctx context.Context) error {
	plugins, err := mirror.Build()
	for _, of := range [][2]string{{"reef", report.Framework}, {"shoal", report.SDK}} {
		if err == nil {
			err = b.withPlane(ctx, func(p *plane) error { return b.measureBridge(ctx, p, plugins, of[0], of[1]) })
		}
	}
	return err
}

func (b *bench) measureBridge(ctx context.Context, p *plane, plugins, program, phase string) error {
	ctx, cancel := b.limited(ctx)
	defer cancel()
	poll := min(b.crowdPoll, bridge.MostPoll)
	measure := func(c *controllers) error {
		requests := func(ctx context.Context) (map[string]int, error) { all, err := c.counts(ctx); return all.Requests, err }
		return (&bridge.Run{
			Report: b.report, Phase: phase, Program: program, Folder: filepath.Join(p.dir, program), Namespace: namespace,
			Objects: min(b.objects, bridge.MostObjects), Settle: b.settle, Rest: b.rest, Poll: poll,
			Client: p.client, Controllers: c.PID(), Server: p.server.PID(), Requests: requests,
		}).Measure(ctx)
	}
	return errors.Join(bridge.Prepare(ctx, p.client), b.withControllers(ctx, p, measure, "--providers", "terraform", "--poll-interval", poll.String(),
		flagPlugins, plugins, "--terraform-journal", filepath.Join(p.dir, "journal")))
}
