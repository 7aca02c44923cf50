// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"time"

	"github.com/bowline-dev/bowline/pkg/failure"
)

// A result is what a call reveals about the external system.
type result int

const (
	unknown     result = iota // nothing: the caller gave up
	served                    // it responds and accepts the credentials
	serverError               // it responds with an error of its own
	throttled                 // it asks for fewer calls
	refused                   // it does not accept the credentials
	noResponse
	untrusted // no response, since no secure connection can be established
)

// A response of the external system.
type response struct {
	result result
	after  time.Duration // throttled: for how long; zero if it names no time
	why    string        // noResponse, untrusted: in what way
	// certain is true for noResponse to a call that shows alone that the others would get none.
	certain bool
}

// reason classifies a fault.
func (r result) reason() failure.Reason {
	switch r {
	case refused:
		return failure.ExternalSystemRefused
	case noResponse:
		return failure.ExternalSystemUnreachable
	case untrusted:
		return failure.ExternalSystemUntrusted
	default:
		return failure.ExternalSystemThrottled
	}
}

// pauses returns how long calls are paused by a fault: the first time, and at most.
func (r result) pauses() (first, most time.Duration) {
	switch r {
	case refused:
		return 10 * time.Second, 5 * time.Minute
	case noResponse, untrusted:
		return time.Second, 30 * time.Second
	default:
		return time.Second, time.Minute
	}
}

const (
	// tripAfter calls in a row without a response the circuit opens.
	tripAfter = 5
	// longestPause bounds the harm of a wrong Retry-After.
	longestPause = time.Hour
)

// A breaker is the circuit breaker of one limiter, under its lock; by hand, since libraries know one kind of fault and no Retry-After.
//
// Four faults open the circuit: throttled, until the time that the external system names, then for all calls; refused, noResponse
// and untrusted, for a pause that doubles each time, then for one trial call.
type breaker struct {
	random func() float64 // in [0, 1), for jitter

	fault      result // throttled, refused, noResponse or untrusted; unknown: none
	why        string
	until      time.Time
	step       int  // how often in a row the fault appeared
	trial      bool // the trial call is in flight
	unanswered int  // calls in a row without a response
	generation int  // counts changes of the fault, to recognize calls that began before
}

// allow reports whether a call may be sent and, if not, when to retry. send is true if the call will be sent: then it is the
// trial call if one is due.
func (b *breaker) allow(now time.Time, send bool) (retryAt time.Time, allowed bool) {
	switch {
	case b.trial:
		first, _ := b.fault.pauses()
		return now.Add(first), false
	case b.fault != unknown && now.Before(b.until):
		return b.until, false
	case send && b.fault != unknown && b.fault != throttled:
		b.trial = true
		b.generation++
	}
	return time.Time{}, true
}

// record takes account of the response to a call that began in the given generation. Responses to calls of earlier generations
// are out of date, except that the external system may ask for more time.
func (b *breaker) record(now time.Time, generation int, r response) {
	if generation != b.generation {
		if at := now.Add(min(r.after, longestPause)); r.result == throttled && b.fault == throttled && at.After(b.until) {
			b.until = at
		}
		return
	}
	trial := b.trial
	b.trial = false
	if r.result < noResponse && r.result != unknown {
		b.unanswered = 0
	}
	switch r.result {
	case unknown: // the next call is another trial
	case served:
		b.close()
	case serverError:
		if b.fault != refused {
			b.close()
		} else if trial {
			b.until = now.Add(b.pause(refused, b.step))
		}
	case throttled:
		b.recordThrottled(now, trial, r.after)
	case refused:
		b.open(now, refused, "")
	case noResponse, untrusted:
		if b.unanswered++; trial && b.fault == refused {
			b.until = now.Add(b.pause(noResponse, 1))
		} else if trial || r.certain || b.unanswered >= tripAfter {
			b.open(now, r.result, r.why)
		}
	}
}

// recordThrottled does not take a throttled trial call for a sign that the credentials are accepted.
func (b *breaker) recordThrottled(now time.Time, trial bool, after time.Duration) {
	if trial && b.fault == refused {
		b.until = now.Add(max(min(after, longestPause), b.pause(refused, 1)))
		return
	}
	b.open(now, throttled, "the external system asks for fewer calls")
	if after > 0 {
		b.until = now.Add(min(after, longestPause))
	}
}

// open opens the circuit, or keeps it open for twice as long.
func (b *breaker) open(now time.Time, fault result, why string) {
	if b.fault != fault {
		b.step = 0
	}
	b.step++
	b.fault, b.why = fault, why
	b.until = now.Add(b.pause(fault, b.step))
	b.generation++
}

// retry ends the pause before the trial call. If that fails, pauses are short again.
func (b *breaker) retry() {
	if b.fault != unknown && b.fault != throttled {
		b.until, b.step = time.Time{}, 0
	}
}

// close closes the circuit. Calls in flight still count: after a pause many calls are sent at once, of which the first may be
// served and the next throttled.
func (b *breaker) close() {
	*b = breaker{random: b.random, generation: b.generation}
}

// pause returns how long calls are paused when a fault appears for the step-th time in a row.
func (b *breaker) pause(fault result, step int) time.Duration {
	first, most := fault.pauses()
	d := most
	if shift := step - 1; shift < 16 && first<<shift < most {
		d = first << shift
	}
	if fault == throttled { // jitter, so that providers do not come back in step
		return d/2 + time.Duration(b.random()*float64(d/2))
	}
	return d
}
