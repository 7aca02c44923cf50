// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress waits for changes of many objects, and measures how long each took.
package progress

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
)

// A Work is a change of each object that is to be done.
type Work struct {
	N    int // how many objects
	done func(item *shop.Item, deleted bool) bool
	all  chan struct{} // closed when all are done

	mu    sync.Mutex
	begun map[string]time.Time // objects begun and not done
	last  map[string]*shop.Item
	took  []time.Duration
	end   time.Time // when the last one was done
}

// New returns the work of changing that many objects.
func New(n int, done func(item *shop.Item, deleted bool) bool) *Work {
	return &Work{N: n, done: done, all: make(chan struct{}), begun: map[string]time.Time{}, last: map[string]*shop.Item{}}
}

// ReadyAt is done when an object is Ready and its external resource has the given size.
func ReadyAt(size int64) func(*shop.Item, bool) bool {
	return func(s *shop.Item, _ bool) bool {
		return s.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue && s.Status.AtProvider.Size == size
	}
}

// IsDeleted is done when an object is deleted.
func IsDeleted(_ *shop.Item, deleted bool) bool { return deleted }

// Begin notes that the request for an object is about to be sent.
func (w *Work) Begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun[name] = time.Now()
}

// See notes a change of an object.
func (w *Work) See(s *shop.Item, deleted bool, now time.Time) {
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
	if len(w.took) == w.N {
		close(w.all)
	}
}

// Count returns how many objects are done.
func (w *Work) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.took)
}

// Wait returns how long each object took, and when the last one was done. If ctx ends before, the error describes what is missing.
func (w *Work) Wait(ctx context.Context) (took []time.Duration, end time.Time, err error) {
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
	text := fmt.Sprintf("%d of %d objects are done", len(w.took), w.N)
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
