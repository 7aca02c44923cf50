// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation reports the installation of kinds that an API server does not serve yet.
//
// The one idea: the metadata of CRDs is watched only while a kind is awaited. A change of a CRD in the group of an awaited kind
// triggers a check whether the server serves the kind.
//
//	watcher := installation.NewWatcher(mgr, func(kind schema.GroupVersionKind) { /* try again what needs the kind */ })
//	watcher.Await(kind)
//
// The controllers need the verbs list and watch on customresourcedefinitions. Without them nothing is reported, so callers should
// also retry from time to time.
package installation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// minBackoff and maxBackoff bound the delays between checks after a change of a CRD, since a server accepts a CRD shortly
	// before it serves the kind. While CRDs cannot be watched maxBackoff is the poll interval.
	minBackoff = 50 * time.Millisecond
	maxBackoff = 5 * time.Second
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// A Watcher reports the installation of kinds. It is safe for concurrent use.
type Watcher struct {
	mgr       manager.Manager
	installed func(schema.GroupVersionKind)
	changed   chan struct{} // has at most one signal

	mu      sync.Mutex
	awaited map[schema.GroupVersionKind]bool
	running bool
}

// NewWatcher returns a Watcher that runs with the manager and calls installed once for each awaited kind, sequentially.
func NewWatcher(mgr manager.Manager, installed func(schema.GroupVersionKind)) *Watcher {
	return &Watcher{
		mgr:       mgr,
		installed: installed,
		changed:   make(chan struct{}, 1),
		awaited:   map[schema.GroupVersionKind]bool{},
	}
}

// Await reports a kind once the server serves it, also if it already does. It is idempotent. The error is that of a stopped
// manager.
func (w *Watcher) Await(kind schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.awaited[kind] {
		return nil
	}
	if !w.running {
		if err := w.mgr.Add(manager.RunnableFunc(w.run)); err != nil {
			return fmt.Errorf("awaiting the installation of kind %s: %w", kind, err)
		}
		w.running = true
	}
	w.awaited[kind] = true
	w.signal()
	return nil
}

// Dismiss stops waiting for a kind.
func (w *Watcher) Dismiss(kind schema.GroupVersionKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.awaited, kind)
	w.signal()
}

// Awaited returns the kinds that are awaited, in no order.
func (w *Watcher) Awaited() []schema.GroupVersionKind {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.awaited))
}

func (w *Watcher) signal() {
	select {
	case w.changed <- struct{}{}:
	default: // a signal is pending
	}
}

// run watches CRDs until no kind is awaited. If they cannot be watched, for example because the server forbids it, it polls.
func (w *Watcher) run(ctx context.Context) error {
	var parts sync.WaitGroup
	defer parts.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := metadata.NewForConfigAndClient(w.mgr.GetConfig(), w.mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("creating a client for CRDs: %w", err)
	}
	informer, err := w.informer(c)
	if err != nil {
		return fmt.Errorf("watching CRDs: %w", err)
	}
	parts.Go(func() { informer.RunWithContext(ctx) })
	again, wait := time.NewTimer(maxBackoff), maxBackoff
	defer again.Stop()
	for w.awaitsAny() {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
			wait = minBackoff
		case <-again.C:
			wait *= 2
		}
		w.check(ctx, c)
		if wait > maxBackoff && !informer.HasSynced() {
			wait = maxBackoff
		}
		if wait <= maxBackoff {
			again.Reset(wait)
		}
	}
	return nil
}

func (w *Watcher) informer(c metadata.Interface) (toolscache.SharedIndexInformer, error) {
	informer := metadatainformer.NewFilteredMetadataInformer(c, definitions, "", 0, toolscache.Indexers{}, nil).Informer()
	err := informer.SetTransform(func(o any) (any, error) {
		if crd, ok := o.(*metav1.PartialObjectMetadata); ok {
			crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion}
		}
		return o, nil
	})
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    w.see,
		UpdateFunc: func(_, after any) { w.see(after) },
	})
	return informer, err
}

// see handles a created or changed CRD. Its name is <plural>.<group>.
func (w *Watcher) see(o any) {
	crd, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	_, group, _ := strings.Cut(crd.Name, ".")
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind := range w.awaited {
		if kind.Group == group {
			w.signal()
			return
		}
	}
}

func (w *Watcher) awaitsAny() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = len(w.awaited) > 0
	return w.running
}

func (w *Watcher) check(ctx context.Context, c metadata.Interface) {
	for _, kind := range w.Awaited() {
		if w.served(ctx, c, kind) && w.take(kind) {
			w.installed(kind)
		}
	}
}

// served is true once objects of a kind can be listed: discovery has a kind shortly before. A watch that starts too early would be
// retried only after a second.
func (w *Watcher) served(ctx context.Context, c metadata.Interface, kind schema.GroupVersionKind) bool {
	mapping, err := w.mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false
	}
	_, err = c.Resource(mapping.Resource).List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil || apierrors.IsForbidden(err)
}

func (w *Watcher) take(kind schema.GroupVersionKind) (awaited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	awaited = w.awaited[kind]
	delete(w.awaited, kind)
	return awaited
}

// Each calls setup, which adds controllers to the manager, for each of the kinds that the API server serves now, and for the others once it
// does: one after the other.
func Each(mgr manager.Manager, kinds []schema.GroupVersionKind, setup func(schema.GroupVersionKind) error) error {
	var missing []schema.GroupVersionKind
	for _, kind := range kinds {
		_, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			mgr.GetLogger().Info("A kind is not installed, and is served once it is", "kind", kind.GroupKind().String())
			missing = append(missing, kind)
		} else if err := setup(kind); err != nil { // its controllers report other errors of the mapping
			return err
		}
	}
	arrivals := NewWatcher(mgr, func(kind schema.GroupVersionKind) {
		if err := setup(kind); err != nil {
			mgr.GetLogger().Error(err, "Cannot serve a kind that was installed: restart the process", "kind", kind.GroupKind().String())
		}
	})
	for _, kind := range missing {
		if err := arrivals.Await(kind); err != nil {
			return err
		}
	}
	return nil
}
