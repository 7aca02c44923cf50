// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/test/bench/report"
	"github.com/bowline-dev/bowline/test/bench/usage"
)

// measureStart measures `bowline up`: how soon it is ready on a new data folder and again on the same one, and what it
// needs until then and while there is nothing to do.
func (b *bench) measureStart(ctx context.Context) error {
	b.logf("start: bowline up, twice, then %s of rest", b.settle+b.rest)
	dir, err := os.MkdirTemp(b.dir, "up-")
	if err != nil {
		return err
	}
	if err := b.up(ctx, dir, "seconds to ready on a new folder", nil); err != nil {
		return err
	}
	return b.up(ctx, dir, "seconds to ready on an existing folder", b.measureRest)
}

// upReady is what bowline up prints when it is ready.
const upReady = "Bowline is ready"

func upArguments(dir string) []string {
	return []string{"up", "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--cloud-listen", "127.0.0.1:0"}
}

func (b *bench) up(ctx context.Context, dir, figure string, then func(context.Context, *process.Process) error) error {
	begin := time.Now()
	p, err := process.Start(ctx, process.Config{
		Args: append([]string{b.bowline}, upArguments(dir)...), Dir: dir, Ready: upReady, Failed: b.failed, Detached: true,
	})
	if err != nil {
		return err
	}
	b.report.Add(report.Start, figure, time.Since(begin).Seconds())
	used, err := usage.Read(p.PID()) // which does not depend on what else the machine does
	b.report.Add(report.Start, "CPU "+figure, used.CPU)
	if err == nil && then != nil {
		err = then(ctx, p)
	}
	return errors.Join(err, p.Stop())
}

// measureRest leaves the program alone until the garbage of its start is given back, then measures what it needs.
func (b *bench) measureRest(ctx context.Context, p *process.Process) error {
	if err := sleep(ctx, b.settle); err != nil {
		return err
	}
	before, err := usage.Read(p.PID())
	if err != nil {
		return err
	}
	b.report.Add(report.Start, "MB resident at rest", before.Resident)
	b.report.Add(report.Start, "MB anonymous at rest", before.Anonymous)
	if err := sleep(ctx, b.rest); err != nil {
		return err
	}
	after, err := usage.Read(p.PID())
	b.report.Add(report.Start, "percent of a core at rest", 100*(after.CPU-before.CPU)/b.rest.Seconds())
	return err
}
