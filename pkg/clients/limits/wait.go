// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"context"
	"slices"
	"time"
)

// awaitTurn waits until the rate allows a call, or refuses it if that would take longer than until the deadline.
func (l *Limiter) awaitTurn(ctx context.Context, deadline time.Time) error {
	l.mu.Lock()
	bucket, apart := l.bucket, l.interval()
	l.mu.Unlock()
	now := l.now()
	turn := bucket.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay <= 0 {
		return ctx.Err()
	}
	if at := now.Add(delay); at.After(deadline) || endsBefore(ctx, at) {
		turn.CancelAt(now)
		return l.throttle("the calls per second that its spec.limits allows are used up", at, apart)
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.CancelAt(l.now())
		return ctx.Err()
	}
}

func endsBefore(ctx context.Context, at time.Time) bool {
	end, ok := ctx.Deadline()
	return ok && end.Before(at)
}

// awaitSlot waits until fewer calls are in flight than may be, or refuses the call at the deadline. Whoever gets a slot
// has to leave it.
func (l *Limiter) awaitSlot(ctx context.Context, deadline time.Time) error {
	l.mu.Lock()
	if l.free() {
		l.inFlight++
		l.mu.Unlock()
		return nil
	}
	slot := make(chan struct{})
	l.queue = append(l.queue, slot)
	l.mu.Unlock()
	timer := time.NewTimer(deadline.Sub(l.now()))
	defer timer.Stop()
	select {
	case <-slot:
		return nil
	case <-ctx.Done():
		if l.giveUp(slot) {
			l.leave()
		}
		return ctx.Err()
	case <-timer.C:
		if l.giveUp(slot) {
			return nil
		}
		l.mu.Lock()
		apart := max(l.typical/time.Duration(max(l.config.InFlight, 1)), time.Millisecond)
		earliest := l.now().Add(max(l.typical, spacing))
		l.mu.Unlock()
		return l.throttle("as many calls as its spec.limits allows are in flight", earliest, apart)
	}
}

// giveUp waits no longer for a slot. It is true if the slot was granted at the last moment.
func (l *Limiter) giveUp(slot chan struct{}) (granted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queue, slot)
	if i < 0 {
		return true
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	return false
}

// leave gives a slot to whoever waits longest.
func (l *Limiter) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	l.grant()
}

func (l *Limiter) grant() {
	for len(l.queue) > 0 && l.free() {
		l.inFlight++
		close(l.queue[0])
		l.queue = slices.Delete(l.queue, 0, 1)
	}
}

func (l *Limiter) free() bool {
	return l.config.InFlight <= 0 || l.inFlight < l.config.InFlight
}
