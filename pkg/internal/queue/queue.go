// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue has a queue for controllers whose shutdown does not block.
//
// The queue of controller-runtime before 0.25 blocks for ever, and the end of the manager with it, if it is shut down while it
// hands an item to a worker that waits. So waiting workers are released first.
package queue

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is the priority queue of controller-runtime with a shutdown that does not block.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	end sync.Once

	mu     sync.Mutex
	ending bool
	count  int            // of workers that wait
	wait   sync.WaitGroup // for them
}

// A Maker makes the queue of a controller, for controller.Options.NewQueue.
type Maker = func(controller string, limiter workqueue.TypedRateLimiter[reconcile.Request]) Queue

// A Queue is what controllers take their work from.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Of returns what makes the queues of a manager's controllers: nil, which leaves it to
// controller-runtime, where the manager wants no priorities.
func Of(mgr manager.Manager) Maker {
	if !ptr.Deref(mgr.GetControllerOptions().UsePriorityQueue, true) {
		return nil
	}
	return New(mgr.GetControllerOptions().Logger)
}

// Options are those of a controller of a name with so many workers, 0 for the default, that retries a failed request with a backoff
// between two limits; without limits with that of controller-runtime. Lines of controller-runtime go to its own log, see LogOf.
func Options(mgr manager.Manager, name string, workers int, least, most time.Duration) controller.Options {
	o := controller.Options{MaxConcurrentReconciles: workers, NewQueue: Of(mgr), LogConstructor: LogOf(mgr, name)}
	if most > 0 {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](least, most)
	}
	return o
}

// New returns what makes the queue of a controller.
func New(log logr.Logger) Maker {
	return func(controller string, limiter workqueue.TypedRateLimiter[reconcile.Request]) Queue {
		return &queue{PriorityQueue: priorityqueue.New(controller, func(o *priorityqueue.Opts[reconcile.Request]) {
			o.Log = log.WithValues("controller", controller)
			o.RateLimiter = limiter
		})}
	}
}

// GetWithPriority waits for an item.
func (q *queue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	if !q.enter() {
		return item, 0, true
	}
	item, priority, shutdown = q.PriorityQueue.GetWithPriority()
	if ending := q.leave(); ending && !shutdown {
		q.Done(item)
		return reconcile.Request{}, 0, true
	}
	return item, priority, shutdown
}

// Get is GetWithPriority without the priority.
func (q *queue) Get() (item reconcile.Request, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// ShutDown releases all workers.
func (q *queue) ShutDown() {
	q.end.Do(func() {
		q.mu.Lock()
		q.ending = true
		waiting := q.count
		q.mu.Unlock()
		first := math.MaxInt
		for i := range waiting { // something to receive, which no object is named like
			nothing := reconcile.Request{}
			nothing.Name = "\x00" + strconv.Itoa(i)
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &first}, nothing)
		}
		q.wait.Wait()
		q.PriorityQueue.ShutDown()
	})
}

// ShutDownWithDrain is ShutDown, as for the queue of controller-runtime.
func (q *queue) ShutDownWithDrain() { q.ShutDown() }

func (q *queue) enter() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return false
	}
	q.count++
	q.wait.Add(1)
	return true
}

func (q *queue) leave() (ending bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count--
	q.wait.Done()
	return q.ending
}
