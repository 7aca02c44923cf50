// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/test/bench/progress"
	"github.com/bowline-dev/bowline/test/bench/report"
)

const (
	requesters = 8                // of the harness, at once: enough to be ahead of the controllers
	idleTime   = 10 * time.Second // of the phase idle
	idlePoll   = time.Second      // of the controllers in that phase
	watchPause = 100 * time.Millisecond
)

func name(i int) string { return fmt.Sprintf("item-%05d", i) }

// object returns what the harness creates.
func object(i int) *shop.Item {
	s := &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: name(i)}}
	s.Spec.ForProvider = shop.ItemParameters{Size: new(int64(1)), Colour: new("green")}
	s.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: namespace, Name: name(i)}
	return s
}

// measureObjects measures all phases from creation to deletion. The controllers are restarted before and after the phase idle, which
// has a short poll interval of its own.
func (b *bench) measureObjects(ctx context.Context) (err error) {
	p, err := b.startPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	tracker := progress.NewTracker()
	go b.follow(watching, tracker, p)

	if err := b.withControllers(ctx, p, func(c *controllers) error {
		if err := c.watching(ctx); err != nil {
			return err
		}
		return b.phase(ctx, p, c, "create", tracker.Expect(b.objects, progress.ReadyAt(1)), func(ctx context.Context, i int) error {
			return p.client.Create(ctx, object(i))
		})
	}); err != nil {
		return err
	}
	if err := b.withControllers(ctx, p, func(c *controllers) error {
		return b.idle(ctx, p, c)
	}, "--poll-interval", idlePoll.String()); err != nil {
		return err
	}
	return b.withControllers(ctx, p, func(c *controllers) error {
		if err := b.restart(ctx, p, c); err != nil {
			return err
		}
		larger := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"forProvider": {"size": 2}}}`))
		err := b.phase(ctx, p, c, "update", tracker.Expect(b.objects, progress.ReadyAt(2)), func(ctx context.Context, i int) error {
			return p.client.Patch(ctx, &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: name(i)}}, larger)
		})
		if err != nil {
			return err
		}
		return b.phase(ctx, p, c, "delete", tracker.Expect(b.objects, progress.Deleted), func(ctx context.Context, i int) error {
			return p.client.Delete(ctx, &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: name(i)}})
		})
	})
}

// follow passes the watch to the tracker. It resumes a watch that the API server ends, as it does to slow clients.
func (b *bench) follow(ctx context.Context, tracker *progress.Tracker, p *plane) {
	for ctx.Err() == nil {
		stream, err := p.watch(ctx, tracker.Version())
		if err != nil {
			if ctx.Err() == nil {
				b.failed(err)
			}
			return
		}
		err = tracker.Follow(stream)
		stream.Close()
		if ctx.Err() == nil {
			b.say("resuming the watch of the harness: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchPause):
		}
	}
}

func (b *bench) withControllers(ctx context.Context, p *plane, do func(*controllers) error, flags ...string) error {
	c, err := b.startControllers(ctx, p, flags...)
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.stop())
}

// phase sends one request for each object and waits until the controllers are done with all.
func (b *bench) phase(ctx context.Context, p *plane, c *controllers, phase string, work *progress.Work,
	request func(ctx context.Context, i int) error) error {
	ctx, cancel := b.limited(ctx)
	defer cancel()
	m, err := b.begin(ctx, phase, p, c)
	if err != nil {
		return err
	}
	stop := b.tell(phase, work.Done)
	defer stop()
	begin := time.Now()
	err = b.forEach(ctx, requesters, func(ctx context.Context, i int) error {
		work.Begin(name(i))
		return request(ctx, i)
	})
	if err != nil {
		return fmt.Errorf("requesting to %s: %w", phase, err)
	}
	took, end, err := work.Wait(ctx)
	if err != nil {
		return fmt.Errorf("waiting for all to %s: %w", phase, err)
	}
	seconds := end.Sub(begin).Seconds()
	b.report.Add(phase, "seconds", seconds)
	b.report.Add(phase, "objects per second", float64(b.objects)/seconds)
	b.report.Add(phase, "p50 seconds of an object", report.Percentile(took, 50).Seconds())
	b.report.Add(phase, "p99 seconds of an object", report.Percentile(took, 99).Seconds())
	return m.end(ctx)
}

// idle measures without changes, once the controllers have observed all objects.
func (b *bench) idle(ctx context.Context, p *plane, c *controllers) error {
	ctx, cancel := b.limited(ctx)
	defer cancel()
	if err := c.observed(ctx, b.objects); err != nil {
		return err
	}
	b.say("idle: %s with a poll interval of %s", idleTime, idlePoll)
	m, err := b.begin(ctx, "idle", p, c)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(idleTime):
	}
	b.report.Add("idle", "seconds", idleTime.Seconds())
	return m.end(ctx)
}

// restart waits until restarted controllers have observed all objects.
func (b *bench) restart(ctx context.Context, p *plane, c *controllers) error {
	ctx, cancel := b.limited(ctx)
	defer cancel()
	m, err := b.begin(ctx, "restart", p, c)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := c.observed(ctx, b.objects); err != nil {
		return err
	}
	b.report.Add("restart", "seconds from ready to all observed", time.Since(begin).Seconds())
	return m.end(ctx)
}
