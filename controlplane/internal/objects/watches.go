// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// patience is how long a client may leave an event unread. What happens meanwhile waits in memory.
const patience = 30 * time.Second

// watchable adds to the watches of the store what the watch cache of Kubernetes does.
type watchable struct{ storage.Interface }

// Watch sends bookmarks to who asks for them: a watch that saw no change for minutes could otherwise not go on from where it ended, since
// the revision is removed, and all objects would be listed again. See etcd.Store for the interval. It ends the watch of a client that does
// not read.
func (s watchable) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	o.ProgressNotify = o.ProgressNotify || o.Predicate.AllowWatchBookmarks
	ctx, stop := context.WithCancel(ctx)
	from, err := s.Interface.Watch(ctx, key, o)
	if err != nil {
		stop()
		return nil, err
	}
	w := &limitedWatch{events: make(chan watch.Event), stop: stop}
	go w.forward(ctx, from)
	return w, nil
}

// A limitedWatch ends when an event was not read in time.
type limitedWatch struct {
	events chan watch.Event
	stop   func()
}

func (w *limitedWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *limitedWatch) Stop() { w.stop() }

func (w *limitedWatch) forward(ctx context.Context, from watch.Interface) {
	defer close(w.events)
	defer from.Stop()
	for e := range from.ResultChan() {
		select {
		case w.events <- e:
		case <-time.After(patience):
			return
		case <-ctx.Done():
			return
		}
	}
}
