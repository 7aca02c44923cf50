// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// backoff is the delay after errors: first, doubled with every further error in a row, up to most.
type backoff struct{ first, most time.Duration }

// after returns the delay after the given number of errors in a row. Of each delay a random half is jitter, so that
// objects that failed together do not come back together.
func (b backoff) after(failures int, random float64) time.Duration {
	d := b.most
	if shift := max(failures-1, 0); shift < 32 && b.first<<shift < b.most {
		d = b.first << shift
	}
	return d/2 + time.Duration(random*float64(d/2))
}

// shortestPoll is how soon an unfinished external resource is looked at again.
const shortestPoll = 500 * time.Millisecond

// pollAfter returns when to look at the external resource again: in due time if it is usable, else the sooner the less
// time it has been as it is, so that quick work is seen quickly and slow work is not asked for every moment.
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
