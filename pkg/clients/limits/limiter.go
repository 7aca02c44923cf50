// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits bounds the calls to an external system per ProviderConfig: their rate, the number in flight, and none at all
// while the circuit is open.
//
//	registry := limits.NewRegistry() // once per provider
//	limiter := registry.For(key, version, limits.FromSpec(config.Spec.Limits))
//	cloud := sdk.NewClient(&http.Client{Transport: limiter.Transport(transport)})
//
// Clients that do not use HTTP call Limiter.Do. Package clients does all of this for a provider. Only the users of the
// ProviderConfig concerned are slowed down (N12).
//
// # Errors
//
// A call over the limits waits for up to one second, then fails with *NotSentError. So does every call while the circuit is open:
// after status 429, or 503 with Retry-After, until the time that the external system named; after status 401, a call marked by
// Unreachable, or five calls without a response, for a pause that doubles each time, after which one trial call is sent. failure.RetryAfter returns a different time
// for each caller, so that they do not come back all at once.
package limits

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/failure"
)

const (
	// patience is how long a call over the limits waits before it fails.
	patience = time.Second
	// spacing is the time between two callers that come back, where no rate sets it.
	spacing = 10 * time.Millisecond
	// horizon bounds how long a call is delayed only to keep callers apart. Callers that come back early would otherwise delay
	// all others without end.
	horizon = time.Minute
)

// Config limits calls. The zero value is no limit.
type Config struct {
	CallsPerSecond float64 // on average
	Burst          int     // calls at once after a quiet time; default: CallsPerSecond, and at least 1
	InFlight       int     // calls that may wait for their response at the same time
	// ForbiddenIsRefusal treats status 403 like 401, for systems that answer 403 to unknown credentials. Elsewhere 403 concerns
	// one resource.
	ForbiddenIsRefusal bool
}

// FromSpec returns the limits of a ProviderConfig. Nil: no limits.
func FromSpec(spec *xpv1.CallLimits) Config {
	if spec == nil {
		return Config{}
	}
	return Config{
		CallsPerSecond: float64(ptr.Deref(spec.CallsPerSecond, 0)),
		Burst:          int(ptr.Deref(spec.Burst, 0)),
		InFlight:       int(ptr.Deref(spec.InFlight, 0)),
	}
}

// A Limiter bounds the calls of all users of one version of a ProviderConfig. It is safe for concurrent use.
type Limiter struct {
	key     Key
	version Version
	config  Config
	rate    *rate.Limiter
	slots   *semaphore.Weighted // for calls in flight

	mu        sync.Mutex
	inFlight  int
	typical   time.Duration // duration of a call, moving average
	nextRetry time.Time     // of the next caller that is turned away
	breaker   breaker
	answered  bool
	used      time.Time
	changed   func(Key, bool) // called after changes of health, see Registry.OnChange; nil: nothing
}

func newLimiter(key Key, version Version, c Config, random func() float64) *Limiter {
	l := &Limiter{
		key: key, version: version, config: c, rate: rate.NewLimiter(rate.Inf, 1), slots: semaphore.NewWeighted(math.MaxInt64),
		breaker: breaker{random: random},
	}
	if c.CallsPerSecond > 0 {
		burst := cmp.Or(max(c.Burst, 0), max(1, int(math.Ceil(c.CallsPerSecond))))
		l.rate = rate.NewLimiter(rate.Limit(c.CallsPerSecond), burst)
	}
	if c.InFlight > 0 {
		l.slots = semaphore.NewWeighted(int64(c.InFlight))
	}
	return l
}

// Do makes the call within the limits. It returns the error of the call, *NotSentError, *fence.Error, or that of a context that
// ended before. See ErrSlowDown and ErrRefused for the errors by which a call reports the state of the external system. An error of package
// net, or an expired deadline, counts as no response.
func (l *Limiter) Do(ctx context.Context, send func(context.Context) error) (err error) {
	c, err := l.begin(ctx)
	if err != nil {
		return err
	}
	r := response{} // a panic reveals nothing about the external system
	defer func() { c.end(r) }()
	if err = fence.Send(ctx); err == nil { // time passed while the call waited for its turn
		err = send(ctx)
	}
	r = classify(err)
	return err
}

// A call in flight.
type call struct {
	limiter    *Limiter
	generation int // of the breaker when it began
	began      time.Time
}

// begin waits until a call may be sent, up to patience.
func (l *Limiter) begin(ctx context.Context) (*call, error) {
	if err := l.admit(nil); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(patience)
	if err := l.awaitRate(ctx, deadline); err != nil {
		return nil, err
	}
	if err := l.awaitSlot(ctx, deadline); err != nil {
		return nil, err
	}
	c := &call{limiter: l}
	if err := l.admit(c); err != nil { // the circuit may have opened meanwhile
		l.slots.Release(1)
		return nil, err
	}
	return c, nil
}

// admit returns an error if the circuit is open. A call that is not nil will be sent, and may be the trial call.
func (l *Limiter) admit(c *call) error {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = now
	if retryAt, allowed := l.breaker.allow(now, c != nil); !allowed {
		return l.notSent(l.breaker.fault.reason(), l.breaker.why, retryAt, l.interval())
	}
	if c != nil {
		c.generation, c.began = l.breaker.generation, now
		l.inFlight++
	}
	return nil
}

// end records the result of a call.
func (c *call) end(r response) {
	now, l := time.Now(), c.limiter
	defer l.slots.Release(1)
	l.mu.Lock()
	known, fault := l.health()
	l.breaker.record(now, c.generation, r)
	l.answered = l.answered || r.result < noResponse && r.result != unknown
	l.typical += (now.Sub(c.began) - l.typical) / 8
	l.inFlight--
	knownNow, faultNow := l.health()
	l.mu.Unlock()
	if l.changed != nil && (knownNow != known || faultNow != fault) {
		l.changed(l.key, faultNow != fault)
	}
}

// health is what calls revealed about the ProviderConfig, without what passes by itself. The caller holds the lock.
func (l *Limiter) health() (known bool, fault result) {
	if fault := l.breaker.fault; fault != unknown && fault != throttled {
		return true, fault
	}
	return l.answered, unknown
}

// awaitRate waits until the rate allows a call. It fails at once if that is after the deadline.
func (l *Limiter) awaitRate(ctx context.Context, deadline time.Time) error {
	now := time.Now()
	turn := l.rate.ReserveN(now, 1)
	delay := turn.DelayFrom(now)
	if delay <= 0 {
		return ctx.Err()
	}
	at := now.Add(delay)
	if end, bounded := ctx.Deadline(); at.After(deadline) || bounded && end.Before(at) {
		turn.CancelAt(now)
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.notSent(failure.ExternalSystemThrottled, "the calls per second that its spec.limits allows are used up", at, l.interval())
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.CancelAt(time.Now())
		return ctx.Err()
	}
}

// awaitSlot waits until fewer calls are in flight than allowed.
func (l *Limiter) awaitSlot(ctx context.Context, deadline time.Time) error {
	wait, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if l.slots.TryAcquire(1) || l.slots.Acquire(wait, 1) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	apart := max(l.typical/time.Duration(max(l.config.InFlight, 1)), time.Millisecond)
	return l.notSent(failure.ExternalSystemThrottled, "as many calls as its spec.limits allows are in flight",
		time.Now().Add(max(l.typical, spacing)), apart)
}

// notSent returns the error of a call that is not sent. Each caller may retry at a different time: the earliest, or apart from
// the caller before. The caller of notSent holds the lock.
func (l *Limiter) notSent(reason failure.Reason, why string, earliest time.Time, apart time.Duration) error {
	at := earliest
	if l.nextRetry.After(at) && l.nextRetry.Sub(at) < horizon {
		at = l.nextRetry
	}
	l.nextRetry = at.Add(apart)
	err := &NotSentError{Key: l.key, Reason: reason, Why: why, After: time.Until(at)}
	switch reason { // with what an application team may read
	case failure.ExternalSystemUnreachable:
		return failure.Unreachable(err)
	case failure.ExternalSystemUntrusted:
		return failure.Untrusted(err)
	case failure.ExternalSystemThrottled:
		return failure.Throttled(err, 0)
	default:
		return failure.With(reason, err)
	}
}

// interval is the time between two calls at the full rate.
func (l *Limiter) interval() time.Duration {
	if l.config.CallsPerSecond <= 0 {
		return spacing
	}
	return time.Duration(float64(time.Second) / l.config.CallsPerSecond)
}

func (l *Limiter) use(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = now
}

// unusedSince is true if no call was made after the given time and none is in flight.
func (l *Limiter) unusedSince(t time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used.Before(t) && l.inFlight == 0
}

// Errors by which a call made by Do reports what an HTTP status reports otherwise. They may be wrapped.
var (
	// ErrSlowDown: the external system asks for fewer calls, as by status 429. An error with the method
	// RetryAfter() time.Duration reports the same, and for how long.
	ErrSlowDown = failure.Throttled(errors.New("the external system asks for fewer calls"), 0)
	// ErrRefused: the external system does not accept the credentials, as by status 401.
	ErrRefused = failure.With(failure.ExternalSystemRefused, errors.New("the external system does not accept the credentials"))
)

// Unreachable marks the error of a call that was refused a connection, or waited in vain for one: the circuit opens at once, so that
// not each of the first few calls waits as long. It keeps its text and classification.
func Unreachable(err error) error { return unreachableError{err} }

type unreachableError struct{ error }

func (e unreachableError) Unwrap() error { return e.error }

// A NotSentError reports that a call was not sent: it exceeds the limits, or the circuit is open.
type NotSentError struct {
	Key    Key            // of the ProviderConfig
	Reason failure.Reason // ExternalSystemThrottled, ExternalSystemRefused, ExternalSystemUnreachable or ExternalSystemUntrusted
	Why    string         // in words that do not change from call to call, so that they may appear in a condition
	After  time.Duration  // until the call may be tried again
}

// Error names the ProviderConfig and the cause.
func (e *NotSentError) Error() string {
	if e.Reason == failure.ExternalSystemRefused {
		return fmt.Sprintf("the external system refuses the credentials of %s: correct what its spec.credentials names, or the "+
			"account or project in its spec", e.Key)
	}
	return fmt.Sprintf("calls of %s wait: %s", e.Key, e.Why)
}

// RetryAfter is how long to wait before the call is tried again.
func (e *NotSentError) RetryAfter() time.Duration { return e.After }

// keep is how long an unused limiter is kept: longer than any pause that it may have to remember, and than the hour within
// which every object is polled.
const keep = 2 * time.Hour

// A Key identifies a ProviderConfig of a provider.
type Key struct {
	Group     string // of the kind; not in messages
	Kind      string // ProviderConfig or ClusterProviderConfig
	Namespace string // empty for cluster-scoped kinds
	Name      string
}

// String names the object in messages.
func (k Key) String() string {
	return fmt.Sprintf("%s %q", k.Kind, strings.TrimPrefix(k.Namespace+"/"+k.Name, "/"))
}

// A Version identifies the content of a ProviderConfig and of its credentials.
type Version [sha256.Size]byte

// A Registry holds the limiters of a provider. It is safe for concurrent use.
type Registry struct {
	// OnChange is called, if set before the first call, after changes of the health of a ProviderConfig. fault is true if a fault
	// began or ended, false for the first answer.
	OnChange func(key Key, fault bool)
	random   func() float64 // in [0, 1), for jitter

	mu       sync.Mutex
	limiters map[Key]*Limiter
	swept    time.Time
}

// NewRegistry returns a registry without limiters.
func NewRegistry() *Registry { return &Registry{random: rand.Float64, limiters: map[Key]*Limiter{}} }

// For returns the limiter for a version of the ProviderConfig. A new version gets a new one, within the same limits unless
// they changed: earlier responses of the external system concern other settings or credentials.
func (r *Registry) For(key Key, version Version, c Config) *Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	l := r.limiters[key]
	if l == nil || l.version != version {
		next := newLimiter(key, version, c, r.random)
		next.changed = r.OnChange
		if l != nil && l.config == c {
			next.rate, next.slots = l.rate, l.slots // the limits also hold for the calls of both versions together
		}
		r.limiters[key], l = next, next
	}
	l.use(now)
	if now.Sub(r.swept) >= keep/2 {
		r.swept = now
		maps.DeleteFunc(r.limiters, func(_ Key, l *Limiter) bool { return l.unusedSince(now.Add(-keep)) })
	}
	return l
}

// Check returns the fault that calls by this version of the ProviderConfig revealed, if any. It is not known before the first answer.
func (r *Registry) Check(key Key, version Version) (known bool, err error) {
	r.mu.Lock()
	l := r.limiters[key]
	r.mu.Unlock()
	if l == nil || l.version != version {
		return false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known, fault := l.health()
	if fault != unknown {
		err = failure.With(fault.reason(), &NotSentError{Key: key, Reason: fault.reason(), Why: l.breaker.why})
	}
	return known, err
}

// Retry lets the next call be sent as a trial although the circuit is open, since something changed from which the external system may
// respond again, or accept the credentials.
func (r *Registry) Retry(key Key) {
	r.mu.Lock()
	l := r.limiters[key]
	r.mu.Unlock()
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.breaker.retry()
	}
}

// Forget drops the limiter of a ProviderConfig that was deleted. Callers that hold the limiter may continue to use it.
func (r *Registry) Forget(key Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.limiters, key)
}
