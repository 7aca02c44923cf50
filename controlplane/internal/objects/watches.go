// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// What a client has not read waits in memory, so a watch ends when one event was not read for unreadTimeout, or when more than a buffer of
// them waited for behindTimeout.
const (
	unreadTimeout = 30 * time.Second
	behindTimeout = 2 * time.Minute
)

// quiet is how long a watch may be without events and bookmarks. The store sends bookmarks only while no object of the kind changes, so that a
// watch of some objects would get none while others change.
const quiet = 90 * time.Second

// watchable adds to the watches of the store what the watch cache of Kubernetes does.
type watchable struct{ storage.Interface }

// Watch sends bookmarks if the request asks for them: a watch that saw no change for minutes could otherwise not go on from where it ended, since
// the revision is removed, and all objects would be listed again. See etcd.Store for the interval.
func (s watchable) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	if _, err := s.Versioner().ParseResourceVersion(o.ResourceVersion); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o.ProgressNotify = o.ProgressNotify || o.Predicate.AllowWatchBookmarks
	ctx, stop := context.WithCancel(ofOwnStream(ctx))
	from, err := s.Interface.Watch(ctx, key, o)
	if err != nil {
		stop()
		return nil, err
	}
	w := &limitedWatch{from: from, events: make(chan watch.Event), stop: stop, bookmark: func() {}}
	if o.ProgressNotify {
		w.bookmark = func() { _ = s.RequestWatchProgress(ctx) } // what keeps it from being sent ends the watch, too
	}
	go w.forward(ctx)
	return w, nil
}

var streams atomic.Uint64

// ofOwnStream has a watch share no stream: etcd's client has one for the watches of equal metadata. In process, the two ends of a stream have
// no buffers, and wait for each other for ever when many of its watches end at once.
func ofOwnStream(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "stream", strconv.FormatUint(streams.Add(1), 10))
}

// A limitedWatch ends when its client does not keep up.
type limitedWatch struct {
	from     watch.Interface
	events   chan watch.Event
	stop     func()
	bookmark func() // asks for one
}

func (w *limitedWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *limitedWatch) Stop() { w.stop() }

func (w *limitedWatch) forward(ctx context.Context) {
	defer close(w.events)
	defer w.stop()
	for upToDate := time.Now(); time.Since(upToDate) < behindTimeout; {
		if waiting := w.from.ResultChan(); len(waiting) == 0 || len(waiting) < cap(waiting) {
			upToDate = time.Now()
		}
		select {
		case e, open := <-w.from.ResultChan():
			if !open || !w.send(ctx, e) {
				return
			}
		case <-time.After(quiet):
			w.bookmark()
		}
	}
}

func (w *limitedWatch) send(ctx context.Context, e watch.Event) bool {
	select {
	case w.events <- e:
		return true
	case <-time.After(unreadTimeout):
	case <-ctx.Done():
	}
	return false
}
