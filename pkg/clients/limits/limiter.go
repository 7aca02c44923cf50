// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

const (
	// spacing is the time between two callers who are told when to come back, where no rate says it.
	spacing = 10 * time.Millisecond
	// horizon bounds for how long callers are told to stay away only to keep them apart. Callers who come back sooner
	// than told, for reasons of their own, would otherwise put off everybody else for ever.
	horizon = time.Minute
)

// Config says how many calls may be made. The zero value is no limit at all.
type Config struct {
	// CallsPerSecond is the most calls per second on average. Zero is no limit.
	CallsPerSecond float64
	// Burst is how many calls may be made at once after a quiet time. Zero is CallsPerSecond, and at least 1.
	Burst int
	// InFlight is how many calls may wait for their answer at the same time. Zero is no limit.
	InFlight int
	// ForbiddenIsRefusal makes an answer 403 speak of the credentials as 401 does, for systems that say 403 to a key
	// they do not know. Elsewhere 403 is about one resource.
	ForbiddenIsRefusal bool
}

// FromSpec returns the limits that a ProviderConfig asks for, none if it asks for none.
func FromSpec(spec *xpv1.CallLimits) Config {
	if spec == nil {
		return Config{}
	}
	value := func(p *int32) int {
		if p == nil {
			return 0
		}
		return int(*p)
	}
	return Config{
		CallsPerSecond: float64(value(spec.CallsPerSecond)),
		Burst:          value(spec.Burst),
		InFlight:       value(spec.InFlight),
	}
}

// Stats are the figures of one key since it became known.
type Stats struct {
	// Calls that were made.
	Calls int64
	// Throttled calls: those that were refused here.
	Throttled int64
	// Open is true while calls are refused because of what the external system said or did not say.
	Open bool
}

// A Limiter bounds the calls of all users of one ProviderConfig. It is safe for concurrent use.
type Limiter struct {
	key      Key
	patience time.Duration
	now      func() time.Time
	bucket   *rate.Limiter

	mu       sync.Mutex
	config   Config
	inFlight int
	queue    []chan struct{} // of calls that wait for a slot, first come first served; closed to grant it
	typical  time.Duration   // how long calls take, on average of late
	promised time.Time       // the next caller who is refused comes back no sooner
	breaker  breaker
	count    Stats
	used     time.Time // when somebody last asked for the limiter, or began a call
}

func newLimiter(key Key, patience time.Duration, now func() time.Time, random func() float64) *Limiter {
	return &Limiter{
		key: key, patience: patience, now: now,
		bucket:  rate.NewLimiter(rate.Inf, 1),
		breaker: breaker{random: random},
	}
}

// Do makes the call when it may be made. Its error is the call's own, *Throttled, *Unauthenticated, or that of a context
// that ended before. See ErrSlowDown and ErrRefused for what a call may say of the external system. An error of package
// net, or a deadline that passed, counts as no answer.
func (l *Limiter) Do(ctx context.Context, call func(context.Context) error) (err error) {
	under, err := l.begin(ctx)
	if err != nil {
		return err
	}
	heard := outcome{} // a call that panics says nothing about the system
	defer func() { l.end(under, heard) }()
	err = call(ctx)
	heard = judge(err)
	return err
}

// underway is a call that is being made.
type underway struct {
	generation int
	began      time.Time
}

// begin waits until a call may be made, but not for long.
func (l *Limiter) begin(ctx context.Context) (underway, error) {
	if _, err := l.ask(false); err != nil {
		return underway{}, err
	}
	deadline := l.now().Add(l.patience)
	if err := l.awaitTurn(ctx, deadline); err != nil {
		return underway{}, err
	}
	if err := l.awaitSlot(ctx, deadline); err != nil {
		return underway{}, err
	}
	under, err := l.ask(true) // the system may have spoken meanwhile
	if err != nil {
		l.leave()
	}
	return under, err
}

// end takes note of what a call came to.
func (l *Limiter) end(u underway, heard outcome) {
	now := l.now()
	l.mu.Lock()
	l.breaker.hear(now, u.generation, heard)
	l.typical += (now.Sub(u.began) - l.typical) / 8
	l.mu.Unlock()
	l.leave()
}

// ask returns the error to refuse a call with because of the external system's state. A call that it does not refuse
// may be the one that tries that state; take says that it will be made.
func (l *Limiter) ask(take bool) (underway, error) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = now
	at, refused := l.breaker.ask(now, take)
	if !refused {
		if take {
			l.count.Calls++
		}
		return underway{generation: l.breaker.generation, began: now}, nil
	}
	l.count.Throttled++
	after := l.promise(now, at, l.interval())
	if l.breaker.cause == refusedCredentials {
		return underway{}, &Unauthenticated{Key: l.key, After: after}
	}
	return underway{}, &Throttled{Key: l.key, Why: l.breaker.why, After: after}
}

// throttle returns the error to refuse a call with that is over a limit.
func (l *Limiter) throttle(why string, earliest time.Time, apart time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count.Throttled++
	return &Throttled{Key: l.key, Why: why, After: l.promise(l.now(), earliest, apart)}
}

// promise returns after which time a refused caller shall come back: each caller apart from the one before.
func (l *Limiter) promise(now, earliest time.Time, apart time.Duration) time.Duration {
	at := earliest
	if l.promised.After(at) && l.promised.Sub(at) < horizon {
		at = l.promised
	}
	l.promised = at.Add(apart)
	return at.Sub(now)
}

// interval is the time between two calls at the full rate.
func (l *Limiter) interval() time.Duration {
	if l.config.CallsPerSecond <= 0 {
		return spacing
	}
	return time.Duration(float64(time.Second) / l.config.CallsPerSecond)
}

func (l *Limiter) configure(c Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = l.now()
	if c == l.config {
		return
	}
	l.config = c
	limit, burst := rate.Inf, 1
	if c.CallsPerSecond > 0 {
		limit = rate.Limit(c.CallsPerSecond)
		burst = max(1, int(math.Ceil(c.CallsPerSecond)))
		if c.Burst > 0 {
			burst = c.Burst
		}
	}
	l.bucket = rate.NewLimiter(limit, burst)
	l.grant()
}

func (l *Limiter) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breaker.reset()
	l.promised = time.Time{}
}

// idleSince is true if nobody used the limiter after the given time, and no call is under way.
func (l *Limiter) idleSince(t time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used.Before(t) && l.inFlight == 0 && len(l.queue) == 0
}

func (l *Limiter) stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.count
	s.Open = l.breaker.open(l.now())
	return s
}
