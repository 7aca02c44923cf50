// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/test/bench/memvendor"
	"github.com/bowline-dev/bowline/test/bench/progress"
	"github.com/bowline-dev/bowline/test/bench/report"
)

const (
	plural     = "items" // of the kind
	requesters = 8       // of the harness, at once: enough to be ahead of the controllers
	mostSingle = 500     // objects that are created one after the other
	pollRate   = 5000    // observations per minute in the phase idle
)

func name(i int) string { return fmt.Sprintf("item-%05d", i) }

// object returns what the harness creates.
func object(i int) *shop.Item {
	s := &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: name(i)}}
	s.Spec.ForProvider = shop.ItemParameters{Size: new(int64(1)), Colour: new(memvendor.Colour)}
	s.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: namespace, Name: name(i)}
	return s
}

// A life is the objects of one run, from creation to deletion.
type life struct {
	*bench
	plane     *plane
	current   atomic.Pointer[progress.Work]
	emptyHeap float64 // of controllers without objects
}

// measureObjects measures all phases from creation to deletion. The controllers are restarted before and after the phase idle, which
// has a poll interval of its own.
func (b *bench) measureObjects(ctx context.Context) error {
	return b.withLife(ctx, func(l *life) error {
		p := l.plane
		if err := b.withControllers(ctx, p, func(c *controllers) error { return l.create(ctx, c) }); err != nil {
			return err
		}
		poll := max(time.Duration(b.objects)*time.Minute/pollRate, time.Second).Round(time.Second)
		if err := b.withControllers(ctx, p, func(c *controllers) error {
			return errors.Join(l.idle(ctx, c, poll), l.singles(ctx))
		}, "--poll-interval", poll.String()); err != nil {
			return err
		}
		c, err := l.restart(ctx)
		if err != nil {
			return err
		}
		return errors.Join(l.updateAndDelete(ctx, c), c.stop())
	})
}

// withLife starts an API server and a watch of its items, and calls do.
func (b *bench) withLife(ctx context.Context, do func(*life) error) error {
	return b.withPlane(ctx, func(p *plane) error {
		l := &life{bench: b, plane: p}
		watching, stopWatching := context.WithCancel(ctx)
		defer stopWatching()
		if err := watch(watching, p, &l.current); err != nil {
			return err
		}
		return do(l)
	})
}

func (l *life) create(ctx context.Context, c *controllers) (err error) {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := c.await(limited, watches, 1); err != nil { // a moment after they are ready
		return err
	}
	if l.emptyHeap, err = c.heap(ctx); err != nil {
		return err
	}
	return l.change(ctx, "create", c, progress.ReadyAt(1), func(ctx context.Context, i int) error { return l.plane.client.Create(ctx, object(i)) })
}

// idle measures the controllers while they poll, and what an object takes in their memory.
func (l *life) idle(ctx context.Context, c *controllers, poll time.Duration) error {
	limited, cancel := l.limited(ctx)
	defer cancel()
	if err := c.await(limited, observes, l.objects); err != nil {
		return err
	}
	heap, err := c.heap(ctx)
	if err != nil {
		return err
	}
	l.report.Add("idle", "KB of live heap per object", (heap-l.emptyHeap)/float64(l.objects)/1024)
	lasts := (l.rest + poll - 1) / poll * poll // as many polls of each object
	l.logf("idle: %s with a poll interval of %s", lasts, poll)
	l.report.Add("idle", "seconds", lasts.Seconds())
	l.report.Add("idle", "seconds between polls", poll.Seconds())
	if err := l.phase(ctx, "idle", l.plane, c, func(ctx context.Context) error { return sleep(ctx, lasts) }); err != nil {
		return err
	}
	l.report.Add("idle", "percent of a core", 100*l.report.CPUOf("idle", "controllers", "API server")/lasts.Seconds())
	return nil
}

// singles measures how long one object takes while nothing but polls happens, then deletes those that it created.
func (l *life) singles(ctx context.Context) error {
	ctx, cancel := l.limited(ctx)
	defer cancel()
	n := min(mostSingle, l.objects)
	all, err := l.oneByOne(ctx, report.Single, n, 0)
	if err != nil {
		return err
	}
	l.report.Add(report.Single, "objects", float64(n))
	l.report.Add(report.Single, "p50 milliseconds", 1000*report.Percentile(all, 50).Seconds())
	l.report.Add(report.Single, "p99 milliseconds", 1000*report.Percentile(all, 99).Seconds())
	l.report.Add(report.Single, "slowest milliseconds", 1000*report.Percentile(all, 100).Seconds())
	gone := progress.New(n, progress.IsDeleted)
	l.current.Store(gone)
	for i := l.objects; i < l.objects+n; i++ {
		gone.Begin(name(i))
		if err := l.plane.client.Delete(ctx, object(i)); err != nil {
			return err
		}
	}
	_, _, err = gone.Wait(ctx)
	return err
}

// oneByOne creates further objects, each when the one before is Ready and was created that long ago, and returns how long each took.
func (l *life) oneByOne(ctx context.Context, phase string, n int, every time.Duration) (all []time.Duration, err error) {
	var done atomic.Int64
	defer l.logProgress(ctx, phase, func() int { return int(done.Load()) }, n)()
	for i := l.objects; i < l.objects+n; i++ {
		next := time.Now().Add(every)
		one := progress.New(1, progress.ReadyAt(1))
		l.current.Store(one)
		one.Begin(name(i))
		if err := l.plane.client.Create(ctx, object(i)); err != nil {
			return nil, err
		}
		took, _, err := one.Wait(ctx)
		if err == nil {
			err = sleep(ctx, time.Until(next))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", phase, err)
		}
		all = append(all, took...)
		done.Add(1)
	}
	return all, nil
}

// restart starts controllers and waits until they have observed all objects.
func (l *life) restart(ctx context.Context) (c *controllers, err error) {
	ctx, cancel := l.limited(ctx)
	defer cancel()
	s, err := l.beginSpan(ctx, "restart", l.plane, nil)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if c, err = l.startControllers(ctx, l.plane); err != nil {
		return nil, err
	}
	if err = s.started(ctx, c); err == nil {
		err = c.await(ctx, observes, l.objects)
	}
	if err == nil {
		l.report.Add("restart", "seconds from start to all observed", time.Since(begin).Seconds())
		err = s.end(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("restart: %w", err), c.stop())
	}
	return c, nil
}

// updateAndDelete does both with all objects.
func (l *life) updateAndDelete(ctx context.Context, c *controllers) error {
	larger := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"forProvider": {"size": 2}}}`))
	if err := l.change(ctx, "update", c, progress.ReadyAt(2), func(ctx context.Context, i int) error {
		return l.plane.client.Patch(ctx, object(i), larger)
	}); err != nil {
		return err
	}
	if err := l.change(ctx, "delete", c, progress.IsDeleted, func(ctx context.Context, i int) error {
		return l.plane.client.Delete(ctx, object(i))
	}); err != nil {
		return err
	}
	var left shop.ItemList
	if err := l.plane.client.List(ctx, &left); err != nil {
		return err
	}
	l.report.Add("delete", "objects left", float64(len(left.Items)))
	return nil
}

// change measures a phase that sends one request for each object and waits until the controllers are done with all.
func (l *life) change(ctx context.Context, phase string, c *controllers, done func(*shop.Item, bool) bool,
	request func(ctx context.Context, i int) error) error {
	w := progress.New(l.objects, done)
	l.current.Store(w)
	return l.phase(ctx, phase, l.plane, c, func(ctx context.Context) error {
		defer l.logProgress(ctx, phase, w.Count, w.N)()
		begin := time.Now()
		if err := l.forEach(ctx, requesters, func(ctx context.Context, i int) error {
			w.Begin(name(i))
			return request(ctx, i)
		}); err != nil {
			return err
		}
		took, end, err := w.Wait(ctx)
		if err != nil {
			return err
		}
		seconds := end.Sub(begin).Seconds()
		l.report.Add(phase, "seconds", seconds)
		l.report.Add(phase, "objects per second", float64(l.objects)/seconds)
		l.report.Add(phase, "p50 seconds of an object", report.Percentile(took, 50).Seconds())
		l.report.Add(phase, "p99 seconds of an object", report.Percentile(took, 99).Seconds())
		return nil
	})
}

// watch passes all changes of items to the current work.
func watch(ctx context.Context, p *plane, current *atomic.Pointer[progress.Work]) error {
	items, err := cache.New(p.server.Config, cache.Options{Scheme: p.client.Scheme()})
	if err != nil {
		return err
	}
	go func() { _ = items.Start(ctx) }() // it ends with ctx only
	informer, err := items.GetInformer(ctx, &shop.Item{})
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	see := func(o any, deleted bool) {
		if item, ok := o.(*shop.Item); ok && current.Load() != nil {
			current.Load().See(item, deleted, time.Now())
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { see(o, false) },
		UpdateFunc: func(_, o any) { see(o, false) },
		DeleteFunc: func(o any) {
			if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			see(o, true)
		},
	})
	return err
}
