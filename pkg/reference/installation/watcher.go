// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// soon and late bound how long after a change of a definition to look again: a server tells that it accepted a
	// definition shortly before it serves the kind. While changes cannot be seen late is also how often to look.
	soon = 50 * time.Millisecond
	late = 5 * time.Second
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// A Watcher tells when kinds get installed. It is safe for concurrent use.
type Watcher struct {
	mgr       manager.Manager
	installed func(schema.GroupVersionKind)
	changed   chan struct{} // holds one sign to look at most

	mu      sync.Mutex
	awaited map[schema.GroupVersionKind]bool
	running bool
}

// NewWatcher returns a Watcher that looks with the manager's access while that runs, and calls installed once for each
// awaited kind, one after the other.
func NewWatcher(mgr manager.Manager, installed func(schema.GroupVersionKind)) *Watcher {
	return &Watcher{
		mgr:       mgr,
		installed: installed,
		changed:   make(chan struct{}, 1),
		awaited:   map[schema.GroupVersionKind]bool{},
	}
}

// Await has it told when the server serves a kind, also if it does already. To await a kind again meanwhile changes
// nothing. The error is that of a manager that has ended.
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
	w.sign()
	return nil
}

// Dismiss is for a kind that need not be awaited any more.
func (w *Watcher) Dismiss(kind schema.GroupVersionKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.awaited, kind)
	w.sign()
}

// Awaited returns the kinds that are awaited, in no order.
func (w *Watcher) Awaited() []schema.GroupVersionKind {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.awaited))
}

func (w *Watcher) sign() {
	select {
	case w.changed <- struct{}{}:
	default: // the one that is there has not been seen yet
	}
}

// run watches definitions until no kind is awaited. Where they cannot be watched, say because the server forbids it, it looks
// again and again.
func (w *Watcher) run(ctx context.Context) error {
	var parts sync.WaitGroup
	defer parts.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := metadata.NewForConfigAndClient(w.mgr.GetConfig(), w.mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("making a client for definitions: %w", err)
	}
	informer, err := w.informer(c)
	if err != nil {
		return fmt.Errorf("watching definitions: %w", err)
	}
	parts.Go(func() { informer.RunWithContext(ctx) })
	again, wait := time.NewTimer(late), late
	defer again.Stop()
	for w.awaitsAny() {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
			wait = soon
		case <-again.C:
			wait *= 2
		}
		w.look(ctx, c)
		if wait > late && !informer.HasSynced() {
			wait = late
		}
		if wait <= late {
			again.Reset(wait)
		}
	}
	return nil
}

// informer gives a sign at each change of a definition in the group of an awaited kind.
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

// see takes a definition that appeared or changed. Its name is <plural>.<group>.
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
			w.sign()
			return
		}
	}
}

// awaitsAny is false if no kind is awaited; it then notes that nobody looks any more.
func (w *Watcher) awaitsAny() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = len(w.awaited) > 0
	return w.running
}

// look tells of the awaited kinds that the server serves.
func (w *Watcher) look(ctx context.Context, c metadata.Interface) {
	for _, kind := range w.Awaited() {
		if w.served(ctx, c, kind) && w.take(kind) {
			w.installed(kind)
		}
	}
}

// served is true once objects of a kind can be listed, by whoever may: a server lists a kind among those that it knows
// shortly before. A watch that begins too early would come back only after a second.
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
