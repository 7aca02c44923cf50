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
	"github.com/bowline-dev/bowline/test/bench/usage"
)

// measureStart measures `bowline up`: how soon it is ready on a new data folder and again on the same one, and what it
// needs until then and while there is nothing to do.
func (b *bench) measureStart(ctx context.Context) error {
	b.say("start: bowline up, twice, then %s of rest", idleTime)
	dir, err := os.MkdirTemp(b.dir, "up-")
	if err != nil {
		return err
	}
	if err := b.up(ctx, dir, "seconds to ready on a new folder", nil); err != nil {
		return err
	}
	return b.up(ctx, dir, "seconds to ready again", b.rest)
}

func (b *bench) up(ctx context.Context, dir, figure string, then func(context.Context, *process.Process) error) error {
	begin := time.Now()
	p, log, err := b.start(ctx, dir, "Bowline is ready", nil,
		b.bowline, "up", "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--cloud-listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.report.Add(measureStart, figure, time.Since(begin).Seconds())
	used, err := usage.Read(p.PID()) // which does not depend on what else the machine does
	b.report.Add(measureStart, "CPU "+figure, used.CPU.Seconds())
	if err == nil && then != nil {
		err = then(ctx, p)
	}
	return errors.Join(err, p.Stop(), log.Close())
}

// rest leaves the program alone until the garbage of its start is given back, then reads what it needs.
func (b *bench) rest(ctx context.Context, p *process.Process) error {
	m, err := usage.Measure(p.PID())
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(idleTime):
	}
	used, err := m.Stop()
	if err != nil {
		return err
	}
	now, err := usage.Read(p.PID())
	if err != nil {
		return err
	}
	b.report.Add(measureStart, "MB resident at rest", megabytes(now.Resident))
	b.report.Add(measureStart, "MB anonymous at rest", megabytes(now.Anonymous))
	b.report.Add(measureStart, "CPU seconds per second of rest", used.CPU.Seconds()/idleTime.Seconds())
	return nil
}
