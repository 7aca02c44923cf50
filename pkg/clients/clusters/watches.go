// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"sync"

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

// watches are those of one cluster: one for each kind and namespace, from the first object that somebody asks for to the last.
type watches struct {
	client dynamic.Interface
	errors *watchlog.Errors
	wake   func(types.NamespacedName)

	mu      *sync.Mutex
	stopped bool
	places  map[place]*watch
	wanted  map[types.NamespacedName][]Object // by who asks
}

// A place is what one watch sees.
type place struct {
	schema.GroupVersionResource
	namespace string
}

func (o Object) place() place { return place{o.GroupVersionResource, o.Namespace} }

type watch struct {
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
	askers   map[string]map[types.NamespacedName]struct{} // by the name of the object
	refused  bool                                         // the credentials do not permit the watch
}

func newWatches(client dynamic.Interface, log logr.Logger, wake func(types.NamespacedName)) watches {
	return watches{client: client, errors: &watchlog.Errors{Log: log}, wake: wake, mu: &sync.Mutex{}, places: map[place]*watch{},
		wanted: map[types.NamespacedName][]Object{}}
}

// Watch has somebody called back about changes of these objects, and of no others that were asked for before.
func (w *watches) Watch(who types.NamespacedName, all ...Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	former := w.wanted[who]
	if w.stopped {
		return
	}
	for _, o := range all {
		at := w.places[o.place()]
		if at == nil {
			at = w.begin(o.place())
		}
		if at.askers[o.Name] == nil {
			at.askers[o.Name] = map[types.NamespacedName]struct{}{}
		}
		at.askers[o.Name][who] = struct{}{}
	}
	wanted := map[Object]bool{}
	for _, o := range all {
		wanted[o] = true
	}
	for _, o := range former {
		if !wanted[o] {
			w.leave(who, o)
		}
	}
	if w.wanted[who] = all; len(all) == 0 {
		delete(w.wanted, who)
	}
}

// leave ends a watch with its last object. The caller holds the lock.
func (w *watches) leave(who types.NamespacedName, o Object) {
	at := w.places[o.place()]
	delete(at.askers[o.Name], who)
	if len(at.askers[o.Name]) == 0 {
		delete(at.askers, o.Name)
	}
	if len(at.askers) == 0 {
		at.stop()
		delete(w.places, o.place())
	}
}

// begin starts a watch. The caller holds the lock.
func (w *watches) begin(of place) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	resource := w.client.Resource(of.GroupVersionResource).Namespace(of.namespace)
	ours := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = LabelKeyWorkload
		return o
	}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			return resource.List(ctx, ours(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return resource.Watch(ctx, ours(o))
		},
	}, &unstructured.Unstructured{}, 0, cache.Indexers{})
	at := &watch{informer: informer, stop: cancel, askers: map[string]map[types.NamespacedName]struct{}{}}
	_ = informer.SetTransform(func(o any) (any, error) {
		if object, ok := o.(*unstructured.Unstructured); ok {
			object.SetManagedFields(nil)
		}
		return o, nil
	})
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		w.errors.Handle(ctx, r, err)
		w.mu.Lock()
		defer w.mu.Unlock()
		at.refused = apierrors.IsForbidden(err)
	})
	changed := func(o any) { w.report(at, objects.FromInformer(o).GetName()) }
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, o any) { changed(o) }, DeleteFunc: changed})
	w.places[of] = at
	go informer.RunWithContext(ctx)
	return at
}

func (w *watches) report(at *watch, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for who := range at.askers[name] {
		w.wake(who)
	}
}

// Look returns an object that is watched, without a request: nil if there is none with LabelKeyWorkload. It is not known before the watch
// has received all objects.
func (w *watches) Look(o Object) (live *unstructured.Unstructured, known bool) {
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

// Blind is true for an object whose changes are not seen, since the credentials do not permit to list and watch its kind in its namespace.
func (w *watches) Blind(o Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.places[o.place()]
	return at != nil && at.refused && !at.informer.HasSynced()
}

// stop ends all watches.
func (w *watches) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for _, at := range w.places {
		at.stop()
	}
	w.places, w.wanted = map[place]*watch{}, map[types.NamespacedName][]Object{}
}
