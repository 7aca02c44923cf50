// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/test/bench/memvendor"
	"github.com/bowline-dev/bowline/test/bench/progress"
	"github.com/bowline-dev/bowline/test/bench/report"
)

const (
	mostNew    = 200 // objects that are created beside the crowd
	refusedOne = 10  // one object is refused beside so many that are polled
)

// measureCrowd measures how soon a new object is Ready while the controllers poll many others, and try again to create those that the
// vendor refuses.
func (b *bench) measureCrowd(ctx context.Context) error {
	crowd := *b
	crowd.objects = b.crowd + b.crowd/refusedOne
	return crowd.withLife(ctx, func(l *life) error {
		return l.withControllers(ctx, l.plane, func(c *controllers) error {
			ctx, cancel := l.limited(ctx)
			defer cancel()
			if err := l.gather(ctx); err != nil {
				return err
			}
			return l.join(ctx, c)
		}, "--poll-interval", b.crowdPoll.String())
	})
}

// gather creates the crowd, and waits until each object is Ready or was refused.
func (l *life) gather(ctx context.Context) error {
	w := progress.New(l.objects, isPolledOrRefused)
	l.current.Store(w)
	defer l.logProgress(ctx, "crowd", w.Count, w.N)()
	if err := l.forEach(ctx, requesters, func(ctx context.Context, i int) error {
		o := object(i)
		if i >= l.crowd {
			o.Spec.ForProvider.Colour = new(memvendor.Refused)
		}
		w.Begin(o.Name)
		return l.plane.client.Create(ctx, o)
	}); err != nil {
		return err
	}
	if _, _, err := w.Wait(ctx); err != nil {
		return err
	}
	return sleep(ctx, l.settle)
}

func isPolledOrRefused(s *shop.Item, deleted bool) bool {
	if *s.Spec.ForProvider.Colour == memvendor.Refused {
		return s.GetCondition(xpv1.TypeSynced).Status == corev1.ConditionFalse
	}
	return progress.ReadyAt(1)(s, deleted)
}

// join creates new objects for as long as it takes to poll the crowd once.
func (l *life) join(ctx context.Context, c *controllers) error {
	before, err := c.counts(ctx)
	if err != nil {
		return err
	}
	n, begin := min(mostNew, l.crowd), time.Now()
	took, err := l.oneByOne(ctx, report.Crowd, n, l.crowdPoll/time.Duration(n))
	if err != nil {
		return err
	}
	seconds := time.Since(begin).Seconds()
	after, err := c.counts(ctx)
	for _, f := range []report.Figure{
		{Name: "objects polled", Value: float64(l.crowd)},
		{Name: "objects refused", Value: float64(l.objects - l.crowd)},
		{Name: "seconds between polls", Value: l.crowdPoll.Seconds()},
		{Name: "external calls: observe per second", Value: float64(after.Calls["observe"]-before.Calls["observe"]) / seconds},
		{Name: "external calls: refused create per second", Value: float64(after.Calls["refuse"]-before.Calls["refuse"]) / seconds},
		{Name: "new objects", Value: float64(n)},
		{Name: "p50 seconds to Ready", Value: report.Percentile(took, 50).Seconds()},
		{Name: "p99 seconds to Ready", Value: report.Percentile(took, 99).Seconds()},
		{Name: "slowest seconds to Ready", Value: report.Percentile(took, 100).Seconds()},
	} {
		l.report.Add(report.Crowd, f.Name, f.Value)
	}
	return err
}
