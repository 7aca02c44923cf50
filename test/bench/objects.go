// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
)

const (
	namespace  = "bench"     // of the connection Secrets
	resource   = "items"     // the plural of the kind
	requesters = 8           // of the harness, at once: enough to be ahead of the controllers
	idlePoll   = time.Second // of the controllers in the phase idle
)

// A plane is a fresh API server with the bench's kind.
type plane struct {
	dir    string
	server *process.APIServer
	client client.Client // of the administrator, without a cache
}

// withPlane starts an API server, calls do, and removes it.
func (b *bench) withPlane(ctx context.Context, do func(*plane) error) (err error) {
	p := &plane{}
	if p.dir, err = os.MkdirTemp(b.dir, "plane-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	if p.server, err = process.StartAPIServer(ctx, b.bowline, p.dir, b.failed, definition()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.server.Stop()) }()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), shop.AddToScheme(scheme)); err != nil {
		return err
	}
	if p.client, err = client.New(p.server.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if err := p.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	return do(p)
}

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
func (b *bench) measureObjects(ctx context.Context) error {
	return b.withPlane(ctx, func(p *plane) error {
		watching, stopWatching := context.WithCancel(ctx)
		defer stopWatching()
		var current atomic.Pointer[work]
		if err := watch(watching, p, &current); err != nil {
			return err
		}
		change := func(c *controllers, phase string, done func(*shop.Item, bool) bool, request func(context.Context, int) error) error {
			w := newWork(b.objects, done)
			current.Store(w)
			return b.phase(ctx, phase, p, c, func(ctx context.Context) error { return b.change(ctx, phase, w, request) })
		}
		if err := b.withControllers(ctx, p, func(c *controllers) error {
			limited, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if err := c.await(limited, watches, 1); err != nil { // a moment after they are ready
				return err
			}
			return change(c, "create", readyAt(1), func(ctx context.Context, i int) error { return p.client.Create(ctx, object(i)) })
		}); err != nil {
			return err
		}
		if err := b.withControllers(ctx, p, func(c *controllers) error {
			limited, cancel := b.limited(ctx)
			defer cancel()
			if err := c.await(limited, observes, b.objects); err != nil {
				return err
			}
			b.logf("idle: %s with a poll interval of %s", idleTime, idlePoll)
			b.report.add("idle", "seconds", idleTime.Seconds())
			return b.phase(ctx, "idle", p, c, func(ctx context.Context) error { return sleep(ctx, idleTime) })
		}, "--poll-interval", idlePoll.String()); err != nil {
			return err
		}
		return b.withControllers(ctx, p, func(c *controllers) error {
			begin := time.Now()
			if err := b.phase(ctx, "restart", p, c, func(ctx context.Context) error {
				defer func() { b.report.add("restart", "seconds from ready to all observed", time.Since(begin).Seconds()) }()
				return c.await(ctx, observes, b.objects)
			}); err != nil {
				return err
			}
			larger := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"forProvider": {"size": 2}}}`))
			if err := change(c, "update", readyAt(2), func(ctx context.Context, i int) error {
				return p.client.Patch(ctx, object(i), larger)
			}); err != nil {
				return err
			}
			return change(c, "delete", isDeleted, func(ctx context.Context, i int) error { return p.client.Delete(ctx, object(i)) })
		})
	})
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

// change sends one request for each object and waits until the controllers are done with all.
func (b *bench) change(ctx context.Context, phase string, w *work, request func(ctx context.Context, i int) error) error {
	defer b.logProgress(ctx, phase, w.count)()
	begin := time.Now()
	if err := b.forEach(ctx, requesters, func(ctx context.Context, i int) error {
		w.begin(name(i))
		return request(ctx, i)
	}); err != nil {
		return err
	}
	took, end, err := w.wait(ctx)
	if err != nil {
		return err
	}
	seconds := end.Sub(begin).Seconds()
	b.report.add(phase, "seconds", seconds)
	b.report.add(phase, "objects per second", float64(b.objects)/seconds)
	b.report.add(phase, "p50 seconds of an object", percentile(took, 50).Seconds())
	b.report.add(phase, "p99 seconds of an object", percentile(took, 99).Seconds())
	return nil
}

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
