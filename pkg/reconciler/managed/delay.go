// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// backoff is the delay after errors: first, doubled with every further error in a row, up to most.
type backoff struct{ first, most time.Duration }

// after returns the delay after the given number of errors in a row. Of each delay a random half is jitter, so that
// objects that failed together are not retried together.
func (b backoff) after(failures int, random float64) time.Duration {
	d := b.most
	if shift := max(failures-1, 0); shift < 32 && b.first<<shift < b.most {
		d = b.first << shift
	}
	return d/2 + time.Duration(random*float64(d/2))
}

// shortestPoll is how soon an unfinished external resource is observed again.
const shortestPoll = 500 * time.Millisecond

// delay is when the next pass is due after an outcome; zero for not by time.
func (r *Reconciler) delay(p *pass, o outcome) time.Duration {
	return o.Delay(flow.Timing{
		Poll:    r.pollAfter(p),
		Retry:   spread(p.poll, p.managed.GetUID()),
		Backoff: func() time.Duration { return r.backoff.after(p.memory.failures, r.random()) },
		Jitter: func(after time.Duration) time.Duration {
			after = max(after, shortestPoll)
			return after + time.Duration(r.random()*float64(after)/2)
		},
	})
}

// pollAfter returns when to observe the external resource again: at the poll interval if it is usable, else the sooner the
// less time it has been in its state, so that quick work is seen quickly and slow work is not polled every moment.
func (r *Reconciler) pollAfter(p *pass) time.Duration {
	ready := p.managed.GetCondition(xpv1.TypeReady)
	if ready.Status != corev1.ConditionFalse {
		return spread(p.poll, p.managed.GetUID())
	}
	since := r.now().Sub(ready.LastTransitionTime.Time)
	return min(max(since/2, shortestPoll), p.poll)
}

// spread changes an interval by a tenth at most, always the same for one object, so that polls do not come in waves.
func spread(d time.Duration, uid types.UID) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(uid))
	return d - d/10 + time.Duration(float64(d/5)*float64(h.Sum32())/float64(1<<32))
}

// Priorities of requests in the controller's queue: users' changes and objects that are not settled go before polls.
const (
	priorityWork = 0
	priorityPoll = handler.LowPriority
)

// requeueAfter asks for the next pass over the object after a while, zero for not by time.
func (rec *record) requeueAfter(after time.Duration) reconcile.Result {
	priority := priorityWork
	if rec.settled {
		priority = priorityPoll
	}
	return reconcile.Result{RequeueAfter: after, Priority: &priority}
}

// isSettled is true for an object that is as its spec wants it, as far as its conditions show.
func isSettled(mg resource.Managed) bool {
	ready, synced := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced)
	return !meta.WasDeleted(mg) && ready.Status == corev1.ConditionTrue && synced.Status == corev1.ConditionTrue &&
		synced.ObservedGeneration == mg.GetGeneration()
}
