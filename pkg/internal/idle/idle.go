// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package idle keeps informers from asking an API server for kinds that have no objects (N83).
package idle

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// anyVersion is the resource version of a kind without objects. A watch from there begins with all that have come since.
const anyVersion = "0"

// Used returns a channel that is closed once a kind has objects, before the first one is stored.
type Used = func(context.Context, schema.GroupResource) <-chan struct{}

// NewInformer returns option NewInformer of the cache of a cluster, which exists when its cache creates informers.
func NewInformer(of func() cluster.Cluster, used Used) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	return func(source cache.ListerWatcher, example runtime.Object, resync time.Duration, by cache.Indexers) cache.SharedIndexInformer {
		kind, err := apiutil.GVKForObject(example, of().GetScheme())
		if err == nil {
			source = listWatch{source, cache.ToListerWatcherWithContext(source), example, begins(context.Background(), of(), used, kind)}
		}
		return cache.NewSharedIndexInformer(source, example, resync, by)
	}
}

// begins returns the channel of a kind. One that cannot be looked up counts as used, and its user reports it.
func begins(ctx context.Context, c cluster.Cluster, used Used, kind schema.GroupVersionKind) <-chan struct{} {
	mapping, err := c.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		unknown := make(chan struct{})
		close(unknown)
		return unknown
	}
	return used(ctx, mapping.Resource.GroupResource())
}

// A listWatch lists and watches a kind like its source, but only once used is closed. Until then it answers, with no request, that
// there are no objects. example is an object of the kind, in the form that the informer holds.
type listWatch struct {
	cache.ListerWatcher
	cache.ListerWatcherWithContext
	example runtime.Object
	used    <-chan struct{}
}

// WatchWithContext is how an informer asks for the objects that exist, too. One that lists them first does not wait.
func (l listWatch) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	lists := o.SendInitialEvents != nil && *o.SendInitialEvents
	switch {
	case lists && !l.isUsed():
		return l.watchIdle(ctx, o.TimeoutSeconds)
	case !lists && o.ResourceVersion == anyVersion:
		w, err := l.watchAll(ctx, o.TimeoutSeconds)
		if err != nil {
			return nil, err
		}
		return proxy(0, func(events chan<- watch.Event, stopped <-chan struct{}) { forward(w, events, stopped) }), nil
	}
	return l.ListerWatcherWithContext.WatchWithContext(ctx, o)
}

func (l listWatch) isUsed() bool {
	select {
	case <-l.used:
		return true
	default:
		return false
	}
}

// watchIdle answers that there are no objects, and continues with those that come.
func (l listWatch) watchIdle(ctx context.Context, timeout *int64) (watch.Interface, error) {
	end, err := l.endOfList()
	if err != nil {
		return nil, err
	}
	return proxy(1, func(events chan<- watch.Event, stopped <-chan struct{}) {
		events <- watch.Event{Type: watch.Bookmark, Object: end}
		select {
		case <-l.used:
		case <-stopped:
			return
		case <-ctx.Done():
			return
		}
		if w, err := l.watchAll(ctx, timeout); err == nil { // else the reflector repeats it
			forward(w, events, stopped)
		}
	}), nil
}

// endOfList returns the event that ends a list.
func (l listWatch) endOfList() (runtime.Object, error) {
	o := l.example.DeepCopyObject()
	m, err := meta.Accessor(o)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(anyVersion)
	m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return o, nil
}

// watchAll watches from the beginning. A bookmark ends the existing objects.
func (l listWatch) watchAll(ctx context.Context, timeout *int64) (watch.Interface, error) {
	return l.ListerWatcherWithContext.WatchWithContext(ctx, metav1.ListOptions{
		ResourceVersion: anyVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents: new(true), AllowWatchBookmarks: true, TimeoutSeconds: timeout,
	})
}

// proxy returns a watch of the events that run sends, which ends with it.
func proxy(size int, run func(events chan<- watch.Event, stopped <-chan struct{})) watch.Interface {
	events := make(chan watch.Event, size)
	w := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		run(events, w.StopChan())
	}()
	return w
}

// forward sends the existing objects once all have arrived, and then each change. The server sends them in the order of their names, but
// a reflector continues after the last version that it got, and would never get the others if the watch broke in between.
func forward(from watch.Interface, events chan<- watch.Event, stopped <-chan struct{}) {
	defer from.Stop()
	var existing []watch.Event
	for complete := false; ; {
		var event watch.Event
		var open bool
		select {
		case event, open = <-from.ResultChan():
		case <-stopped:
		}
		if !open {
			return
		}
		next := []watch.Event{event}
		switch {
		case complete || event.Type == watch.Error:
		case event.Type == watch.Added:
			existing = append(existing, event)
			continue
		default:
			existing, next, complete = nil, append(existing, event), true
		}
		for _, event := range next {
			select {
			case events <- event:
			case <-stopped:
				return
			}
		}
	}
}
