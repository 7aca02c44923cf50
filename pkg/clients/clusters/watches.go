// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/watchlog"
)

// watches are those of one cluster: one for each kind and namespace, from the first object that somebody subscribes to, to the last.
type watches struct {
	client dynamic.Interface
	errors *watchlog.Errors
	wake   func(types.NamespacedName)

	mu            *sync.Mutex
	stopped       bool
	places        map[place]*watch
	subscriptions map[types.NamespacedName]map[Object]bool
}

// A place is what one watch covers.
type place struct {
	schema.GroupVersionResource
	namespace string
}

func (o Object) place() place { return place{o.GroupVersionResource, o.Namespace} }

type watch struct {
	informer    cache.SharedIndexInformer
	stop        context.CancelFunc
	subscribers map[string]map[types.NamespacedName]bool // by the name of the object
	refused     bool                                     // the credentials do not permit the watch
}

func newWatches(client dynamic.Interface, log logr.Logger, wake func(types.NamespacedName)) watches {
	return watches{client: client, errors: &watchlog.Errors{Log: log}, wake: wake, mu: &sync.Mutex{}, places: map[place]*watch{},
		subscriptions: map[types.NamespacedName]map[Object]bool{}}
}

// Subscribe has a subscriber called back about changes of an object from now on, and once its watch has received all objects.
func (w *watches) Subscribe(subscriber types.NamespacedName, to Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.subscriptions[subscriber][to] {
		return
	}
	if w.subscriptions[subscriber] == nil {
		w.subscriptions[subscriber] = map[Object]bool{}
	}
	w.subscriptions[subscriber][to] = true
	at := w.places[to.place()]
	if at == nil {
		at = w.begin(to.place())
	}
	if at.subscribers[to.Name] == nil {
		at.subscribers[to.Name] = map[types.NamespacedName]bool{}
	}
	at.subscribers[to.Name][subscriber] = true
}

// Keep ends the subscriptions of a subscriber to all other objects.
func (w *watches) Keep(subscriber types.NamespacedName, only ...Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for o := range w.subscriptions[subscriber] {
		if !slices.Contains(only, o) {
			w.unsubscribe(subscriber, o)
		}
	}
	if len(w.subscriptions[subscriber]) == 0 {
		delete(w.subscriptions, subscriber)
	}
}

// unsubscribe ends a watch with its last subscriber. The caller holds the lock.
func (w *watches) unsubscribe(subscriber types.NamespacedName, from Object) {
	delete(w.subscriptions[subscriber], from)
	at := w.places[from.place()]
	delete(at.subscribers[from.Name], subscriber)
	if len(at.subscribers[from.Name]) == 0 {
		delete(at.subscribers, from.Name)
	}
	if len(at.subscribers) == 0 {
		at.stop()
		delete(w.places, from.place())
	}
}

// begin starts a watch. The caller holds the lock.
func (w *watches) begin(of place) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	resource := w.client.Resource(of.GroupVersionResource).Namespace(of.namespace)
	at := &watch{stop: cancel, subscribers: map[string]map[types.NamespacedName]bool{}}
	at.informer = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			o.LabelSelector = LabelKeyWorkload
			list, err := resource.List(ctx, o)
			w.note(at, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			ctx, cancel := context.WithCancel(ctx)
			begun := time.AfterFunc(callTimeout, cancel)
			o.LabelSelector = LabelKeyWorkload
			events, err := resource.Watch(ctx, o)
			if err != nil || !begun.Stop() {
				cancel()
			}
			w.note(at, err)
			return events, err
		},
	}, &unstructured.Unstructured{}, 0, cache.Indexers{})
	_ = at.informer.SetTransform(func(o any) (any, error) {
		if object, ok := o.(*unstructured.Unstructured); ok {
			object.SetManagedFields(nil)
		}
		return o, nil
	})
	_ = at.informer.SetWatchErrorHandlerWithContext(w.errors.Handle)
	changed := func(o any) { w.report(at, objects.FromInformer(o).GetName()) }
	_, _ = at.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, o any) { changed(o) }, DeleteFunc: changed})
	w.places[of] = at
	go at.informer.RunWithContext(ctx)
	go func() { // what is missing causes no event
		if cache.WaitForCacheSync(ctx.Done(), at.informer.HasSynced) {
			w.reportAll(at)
		}
	}()
	return at
}

// note reports when the credentials begin or cease to permit a watch.
func (w *watches) note(at *watch, err error) {
	refused := apierrors.IsForbidden(err)
	w.mu.Lock()
	news := (err == nil || refused) && at.refused != refused
	if news {
		at.refused = refused
	}
	w.mu.Unlock()
	if news {
		w.reportAll(at)
	}
}

func (w *watches) report(at *watch, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for subscriber := range at.subscribers[name] {
		w.wake(subscriber)
	}
}

func (w *watches) reportAll(at *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, subscribers := range at.subscribers {
		for subscriber := range subscribers {
			w.wake(subscriber)
		}
	}
}

// Observed returns an object as its watch has it, without a request: nil if there is none with LabelKeyWorkload. It is not known before the
// watch has received all objects.
func (w *watches) Observed(o Object) (live *unstructured.Unstructured, known bool) {
	w.mu.Lock()
	at := w.places[o.place()]
	w.mu.Unlock()
	if at == nil || !at.informer.HasSynced() {
		return nil, false
	}
	key := o.Name
	if o.Namespace != "" {
		key = o.Namespace + "/" + o.Name
	}
	found, exists, err := at.informer.GetStore().GetByKey(key)
	if err != nil || !exists {
		return nil, err == nil
	}
	return found.(*unstructured.Unstructured), true
}

// WatchRefused is true for an object whose changes are not noticed, since the credentials do not permit to list and watch its kind in its
// namespace.
func (w *watches) WatchRefused(o Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.places[o.place()]
	return at != nil && at.refused
}

// stop ends all watches.
func (w *watches) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for _, at := range w.places {
		at.stop()
	}
	w.places, w.subscriptions = map[place]*watch{}, map[types.NamespacedName]map[Object]bool{}
}
