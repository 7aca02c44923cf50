// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/internal/queue"
)

// Many changes of an object cost one pass a second, and the last of them is followed by a pass, also after one for another reason.
func TestWakesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()
		q := queue.New(logr.Discard())("wakes", limiter)
		defer q.ShutDown()
		w, busy := &wakeups{queue: q}, types.NamespacedName{Namespace: "test", Name: "busy"}
		passes := 0
		go func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				passes++
				q.Done(item)
			}
		}()
		pass := func(within time.Duration) (n int) {
			before := passes
			time.Sleep(within)
			synctest.Wait()
			return passes - before
		}
		for range 3 * wakesAtOnce {
			w.addLimited(busy)
			pass(time.Millisecond)
		}
		for range 20 * time.Second / (10 * time.Millisecond) {
			w.addLimited(busy)
			pass(10 * time.Millisecond)
		}
		if passes < wakesAtOnce+18 || passes > wakesAtOnce+22 {
			t.Errorf("%d passes in 20 s of changes", passes)
		}
		w.add(busy)
		if n := pass(time.Millisecond); n != 1 {
			t.Fatalf("%d passes for another reason", n)
		}
		w.addLimited(busy)
		if n := pass(time.Second); n != 1 {
			t.Errorf("%d passes after the last change, want 1", n)
		}
		if n := pass(time.Minute); n != 0 {
			t.Errorf("%d passes without a change", n)
		}
	})
}
