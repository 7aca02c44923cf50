// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// A source has one watch, which ends with its context.
type source struct {
	storage.Interface
	events watch.Interface
}

func (s source) Watch(ctx context.Context, _ string, _ storage.ListOptions) (watch.Interface, error) {
	context.AfterFunc(ctx, s.events.Stop)
	return s.events, nil
}

func TestWatchEndsWhenNobodyReads(t *testing.T) {
	for name, tc := range map[string]struct {
		pause time.Duration // before each event is read
		stop  bool          // instead of reading
		want  int           // events of three
	}{
		"who reads at once gets all events":       {want: 3},
		"who reads slowly gets all events":        {pause: patience / 2, want: 3},
		"who does not read is not waited for":     {pause: 2 * patience},
		"who stops the watch is not waited for":   {stop: true},
		"who reads late, but in time, loses none": {pause: patience - 1, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from := watch.NewFakeWithChanSize(3, false)
				for range 3 {
					from.Add(nil)
				}
				w, err := watchable{source{events: from}}.Watch(t.Context(), "", storage.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if tc.stop {
					w.Stop()
					synctest.Wait()
				}
				got := 0
				for ; got < 3; got++ {
					time.Sleep(tc.pause)
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
