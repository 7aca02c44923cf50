// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
)

// A work is a change of each object that is to be done.
type work struct {
	n    int
	done func(item *shop.Item, deleted bool) bool
	all  chan struct{} // closed when all are done

	mu    sync.Mutex
	begun map[string]time.Time // objects begun and not done
	last  map[string]*shop.Item
	took  []time.Duration
	end   time.Time // when the last one was done
}

func newWork(n int, done func(item *shop.Item, deleted bool) bool) *work {
	return &work{n: n, done: done, all: make(chan struct{}), begun: map[string]time.Time{}, last: map[string]*shop.Item{}}
}

// readyAt is done when an object is Ready and its external resource has the given size.
func readyAt(size int64) func(*shop.Item, bool) bool {
	return func(s *shop.Item, _ bool) bool {
		return s.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue && s.Status.AtProvider.Size == size
	}
}

func isDeleted(_ *shop.Item, deleted bool) bool { return deleted }

// begin notes that the request for an object is about to be sent.
func (w *work) begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun[name] = time.Now()
}

func (w *work) see(s *shop.Item, deleted bool, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	begun, ok := w.begun[s.Name]
	if !ok {
		return
	}
	if !w.done(s, deleted) {
		w.last[s.Name] = s
		return
	}
	delete(w.begun, s.Name)
	w.took, w.end = append(w.took, now.Sub(begun)), now
	if len(w.took) == w.n {
		close(w.all)
	}
}

// count returns how many objects are done.
func (w *work) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.took)
}

// wait returns how long each object took, and when the last one was done. If ctx ends before, the error describes what is missing.
func (w *work) wait(ctx context.Context) (took []time.Duration, end time.Time, err error) {
	select {
	case <-w.all:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		return w.took, w.end, nil
	}
	const shown = 3
	text := fmt.Sprintf("%d of %d objects are done", len(w.took), w.n)
	missing := slices.Sorted(maps.Keys(w.begun))
	for _, name := range missing[:min(len(missing), shown)] {
		text += fmt.Sprintf("; %s is not: ", name)
		if last := w.last[name]; last != nil {
			text += fmt.Sprintf("%+v", last.Status)
		} else {
			text += "nothing seen of it since"
		}
	}
	return nil, time.Time{}, fmt.Errorf("%s: %w", text, err)
}

// watch passes all changes of items to the current work.
func watch(ctx context.Context, p *plane, current *atomic.Pointer[work]) error {
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
			current.Load().see(item, deleted, time.Now())
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
