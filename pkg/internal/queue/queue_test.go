// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package queue_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/internal/queue"
)

// A busy queue is shut down, again and again: no worker stays.
func TestQueue(t *testing.T) {
	t.Parallel()
	limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
	t.Run("a busy controller ends (A73)", func(t *testing.T) {
		for round := range 100 {
			q := queue.New(logr.Discard())("busy", limiter).(priorityqueue.PriorityQueue[reconcile.Request])
			var handed atomic.Int64
			busy := make(chan struct{})
			var workers sync.WaitGroup
			for worker := range 20 {
				workers.Go(func() {
					for i := 0; ; i++ {
						item := reconcile.Request{}
						item.Name = strconv.Itoa(worker) + "-" + strconv.Itoa(i)
						q.AddWithOpts(priorityqueue.AddOpts{Priority: &i}, item)
						got, _, shutdown := q.GetWithPriority()
						if shutdown {
							return
						}
						if handed.Add(1) == 200 { // each round is as busy as the last
							close(busy)
						}
						if got.Name[0] == 0 {
							t.Errorf("a worker got %q", got.Name)
						}
						q.Done(got)
					}
				})
			}
			<-busy
			q.ShutDown()
			done := make(chan struct{})
			go func() { workers.Wait(); close(done) }()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatalf("workers stay in round %d", round)
			}
		}
	})
	t.Run("an idle controller ends (A73)", func(t *testing.T) {
		q := queue.New(logr.Discard())("idle", limiter)
		var workers sync.WaitGroup
		for range 20 {
			workers.Go(func() {
				if _, shutdown := q.Get(); !shutdown {
					t.Error("a worker got something")
				}
			})
		}
		q.ShutDown()
		q.ShutDown()
		workers.Wait()
		if _, shutdown := q.Get(); !shutdown {
			t.Error("a worker came in later")
		}
	})
}
