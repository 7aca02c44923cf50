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
	if o.SendInitialEvents == nil || !*o.SendInitialEvents || l.isUsed() {
		return l.ListerWatcherWithContext.WatchWithContext(ctx, o)
	}
	none, err := l.none()
	if err != nil {
		return nil, err
	}
	events := make(chan watch.Event, 1)
	events <- watch.Event{Type: watch.Bookmark, Object: none}
	w := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		select {
		case <-l.used:
			l.forward(ctx, events, w.StopChan(), o.TimeoutSeconds)
		case <-w.StopChan():
		case <-ctx.Done():
		}
	}()
	return w, nil
}

func (l listWatch) isUsed() bool {
	select {
	case <-l.used:
		return true
	default:
		return false
	}
}

// none tells an informer that it has seen all objects.
func (l listWatch) none() (runtime.Object, error) {
	o := l.example.DeepCopyObject()
	m, err := meta.Accessor(o)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(anyVersion)
	m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return o, nil
}

// forward sends the events of a watch. If it ends, or cannot begin, the informer watches again, from the version that it has.
func (l listWatch) forward(ctx context.Context, events chan<- watch.Event, stopped <-chan struct{}, timeout *int64) {
	w, err := l.ListerWatcherWithContext.WatchWithContext(ctx, metav1.ListOptions{
		ResourceVersion: anyVersion, AllowWatchBookmarks: true, TimeoutSeconds: timeout,
	})
	if err != nil {
		return
	}
	defer w.Stop()
	for {
		var event watch.Event
		var open bool
		select {
		case event, open = <-w.ResultChan():
		case <-stopped:
		}
		if !open {
			return
		}
		select {
		case events <- event:
		case <-stopped:
			return
		}
	}
}
