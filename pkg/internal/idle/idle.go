// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package idle keeps informers from asking an API server for kinds that have no objects (N83).
package idle

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// Used returns a channel that is closed once a kind has objects, before the first one is stored.
type Used = func(context.Context, schema.GroupResource) <-chan struct{}

// NewInformer returns option NewInformer of the cache of a cluster, which exists when its cache creates informers.
func NewInformer(of func() cluster.Cluster, used Used) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	return func(source cache.ListerWatcher, example runtime.Object, resync time.Duration, by cache.Indexers) cache.SharedIndexInformer {
		all := cache.NewSharedIndexInformer(source, example, resync, by)
		kind, err := apiutil.GVKForObject(example, of().GetScheme())
		if err != nil {
			return all
		}
		return informer{all, begins(context.Background(), of(), used, kind)}
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

// An informer runs once used is closed. Until then it is one goroutine, and has all objects, which are none.
type informer struct {
	cache.SharedIndexInformer
	used <-chan struct{}
}

// Run implements cache.SharedInformer.
func (i informer) Run(stop <-chan struct{}) { i.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext implements cache.SharedInformer.
func (i informer) RunWithContext(ctx context.Context) {
	select {
	case <-i.used:
		i.SharedIndexInformer.RunWithContext(ctx)
	case <-ctx.Done():
	}
}

// HasSynced implements cache.SharedInformer.
func (i informer) HasSynced() bool { return isIdle(i.used) || i.SharedIndexInformer.HasSynced() }

// HasSyncedChecker implements cache.SharedInformer.
func (i informer) HasSyncedChecker() cache.DoneChecker {
	return checker(i.used, i.SharedIndexInformer.HasSyncedChecker())
}

// AddEventHandler implements cache.SharedInformer.
func (i informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (i informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions implements cache.SharedInformer.
func (i informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	r, err := i.SharedIndexInformer.AddEventHandlerWithOptions(h, o)
	if err != nil {
		return nil, err
	}
	return registration{r, i.used}, nil
}

// RemoveEventHandler implements cache.SharedInformer.
func (i informer) RemoveEventHandler(r cache.ResourceEventHandlerRegistration) error {
	if own, ok := r.(registration); ok {
		r = own.ResourceEventHandlerRegistration
	}
	return i.SharedIndexInformer.RemoveEventHandler(r)
}

// A registration of a handler has got all objects while there are none.
type registration struct {
	cache.ResourceEventHandlerRegistration
	used <-chan struct{}
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (r registration) HasSynced() bool {
	return isIdle(r.used) || r.ResourceEventHandlerRegistration.HasSynced()
}

// HasSyncedChecker implements cache.ResourceEventHandlerRegistration.
func (r registration) HasSyncedChecker() cache.DoneChecker {
	return checker(r.used, r.ResourceEventHandlerRegistration.HasSyncedChecker())
}

func isIdle(used <-chan struct{}) bool {
	select {
	case <-used:
		return false
	default:
		return true
	}
}

func checker(used <-chan struct{}, c cache.DoneChecker) cache.DoneChecker {
	if isIdle(used) {
		return done{c}
	}
	return c
}

type done struct{ cache.DoneChecker }

// Done implements cache.DoneChecker.
func (done) Done() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}
