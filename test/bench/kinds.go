// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"

	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/test/bench/memvendor"
	"github.com/bowline-dev/bowline/test/bench/report"
	"github.com/bowline-dev/bowline/test/bench/usage"
)

// appliedAtOnce is how many definitions are applied at once: crd.Apply waits 30 seconds for all that it gets to be served.
const appliedAtOnce = 50

// measureDefinitions measures the memory of the definitions of kinds without objects in an API server without controllers.
func (b *bench) measureDefinitions(ctx context.Context) error {
	return b.withPlane(ctx, func(p *plane) error {
		before, err := b.atRest(ctx, p.server.PID())
		if err != nil {
			return err
		}
		if err := b.install(ctx, p.server, b.kinds); err != nil {
			return err
		}
		after, err := b.atRest(ctx, p.server.PID())
		b.report.Add(report.Definitions, "MB anonymous without them", before.Anonymous)
		b.report.Add(report.Definitions, "KB anonymous per definition", (after.Anonymous-before.Anonymous)*1024/float64(b.kinds))
		return err
	})
}

// install applies copies of a definition, a few at once.
func (b *bench) install(ctx context.Context, s *process.APIServer, n int) error {
	var done atomic.Int64
	defer b.logProgress(ctx, "definitions", func() int { return int(done.Load()) }, n)()
	for some := range slices.Chunk(memvendor.Copies(n), appliedAtOnce) {
		if _, err := crd.Apply(ctx, s.Config, some...); err != nil {
			return err
		}
		done.Add(int64(len(some)))
	}
	return nil
}

// measureKinds measures the memory of kinds without objects in bowline up: their definitions, and what the controllers keep of them.
func (b *bench) measureKinds(ctx context.Context) error {
	var anonymous, heap [2]float64
	for i, kinds := range []int{0, b.kinds} {
		var err error
		if anonymous[i], heap[i], err = b.upWithKinds(ctx, kinds); err != nil {
			return err
		}
	}
	b.report.Add(report.Kinds, "MB anonymous without them", anonymous[0])
	b.report.Add(report.Kinds, "KB anonymous per kind", (anonymous[1]-anonymous[0])*1024/float64(b.kinds))
	b.report.Add(report.Kinds, "KB of live heap per kind", (heap[1]-heap[0])/1024/float64(b.kinds))
	return nil
}

// upWithKinds starts bowline up where that many kinds are installed, since it gives up on an installation that takes long. It returns the
// MB of anonymous memory, and the bytes in use after a collection of garbage.
func (b *bench) upWithKinds(ctx context.Context, kinds int) (anonymous, heap float64, err error) {
	dir, err := os.MkdirTemp(b.dir, "kinds-")
	if err != nil {
		return 0, 0, err
	}
	server, err := process.StartAPIServer(ctx, b.bowline, dir, b.failed)
	if err != nil {
		return 0, 0, err
	}
	if err := errors.Join(b.install(ctx, server, kinds), server.Stop()); err != nil {
		return 0, 0, err
	}
	b.logf("bowline up with %d kinds", kinds)
	c, err := b.startSelf(ctx, dir, upReady, kinds, upArguments(dir)...)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	used, err := b.atRest(ctx, c.PID())
	if err != nil {
		return 0, 0, err
	}
	heap, err = c.heap(ctx)
	return used.Anonymous, heap, err
}

// atRest returns what a process uses once the garbage of its start is given back.
func (b *bench) atRest(ctx context.Context, pid int) (usage.Usage, error) {
	if err := sleep(ctx, b.settle); err != nil {
		return usage.Usage{}, err
	}
	return usage.Read(pid)
}
