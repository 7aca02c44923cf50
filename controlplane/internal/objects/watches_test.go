// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// A source has one watch, which ends with its context.
type source struct {
	storage.Interface
	events  watch.Interface
	options storage.ListOptions // of the watch
	asked   int                 // for bookmarks
}

func (s *source) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

func (s *source) RequestWatchProgress(context.Context) error {
	s.asked++
	return nil
}

func (s *source) Watch(ctx context.Context, _ string, o storage.ListOptions) (watch.Interface, error) {
	s.options = o
	context.AfterFunc(ctx, s.events.Stop)
	return s.events, nil
}

func TestWatchEndsWhenItsClientDoesNotKeepUp(t *testing.T) {
	const all = 10
	for name, tc := range map[string]struct {
		pause  time.Duration // before each event is read
		behind bool          // with further events always waiting
		stop   bool          // instead of reading
		want   int           // events
	}{
		"a client that reads at once":                     {want: all},
		"a client that reads late, but in time":           {pause: unreadTimeout - 1, want: all},
		"a client that does not read":                     {pause: 2 * unreadTimeout},
		"a client that reads slower than events come":     {pause: unreadTimeout - 1, behind: true, want: int(behindTimeout/unreadTimeout) + 1},
		"a client that reads fast while many events come": {pause: time.Second, behind: true, want: all},
		"a client that stops the watch":                   {stop: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := watch.NewFakeWithChanSize(all, false)
				if tc.behind {
					for range all {
						from.Add(nil)
					}
				}
				w, err := watchable{&source{events: from}}.Watch(t.Context(), "", storage.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if tc.stop {
					w.Stop()
					synctest.Wait()
				}
				got := 0
				for ; got < all; got++ {
					if !tc.behind && !tc.stop {
						from.Add(nil)
					}
					time.Sleep(tc.pause)
					if tc.behind && !from.IsStopped() { // the one before waits to be read
						from.Add(nil)
					}
					if _, ok := <-w.ResultChan(); !ok {
						break
					}
				}
				if got != tc.want {
					t.Errorf("%d events, want %d", got, tc.want)
				}
				w.Stop()
				synctest.Wait()
				if !from.IsStopped() {
					t.Error("the watch of the store goes on")
				}
			})
		})
	}
}

func TestWatchWithoutEventsGetsBookmarks(t *testing.T) {
	withBookmarks := storage.ListOptions{Predicate: storage.SelectionPredicate{AllowWatchBookmarks: true}}
	for name, tc := range map[string]struct {
		options storage.ListOptions
		event   time.Duration // before each of two events
		want    int
	}{
		"a watch with bookmarks":    {options: withBookmarks, event: 2*quiet + time.Second, want: 4},
		"one that gets events":      {options: withBookmarks, event: quiet - time.Second},
		"a watch without bookmarks": {event: 2*quiet + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := watch.NewFake()
				s := &source{events: from}
				w, err := watchable{s}.Watch(t.Context(), "", tc.options)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					time.Sleep(tc.event)
					from.Add(nil)
					<-w.ResultChan()
				}
				w.Stop()
				synctest.Wait()
				if s.asked != tc.want || s.options.ProgressNotify != tc.options.Predicate.AllowWatchBookmarks {
					t.Errorf("asked %d times for a bookmark beside those of the store (%v), want %d", s.asked, s.options.ProgressNotify, tc.want)
				}
			})
		})
	}
}

func TestWatchFromNoVersionIsRefused(t *testing.T) {
	_, err := watchable{&source{}}.Watch(t.Context(), "", storage.ListOptions{ResourceVersion: "abc"})
	if !apierrors.IsBadRequest(err) {
		t.Errorf("error %v, want a bad request", err)
	}
}
