// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import "time"

// cause says why calls are refused.
type cause int

const (
	none               cause = iota
	askedToSlowDown          // until a time; then all calls are welcome
	refusedCredentials       // for a while; then one call tries
	noAnswer                 // for a while; then one call tries
)

// A verdict is what a call says about the external system.
type verdict int

const (
	unclear  verdict = iota // nothing: the caller gave up, or the system has trouble of its own
	served                  // it answers and knows the caller
	troubled                // it answers, and no more can be said
	slowDown
	refused
	silent
)

// An outcome is what was heard in a call.
type outcome struct {
	verdict verdict
	after   time.Duration // of slowDown: how long, zero if the system did not say
	why     string        // of silent: how the system is silent
}

const (
	// silences in a row before a system is left alone.
	silences = 5
	// longestPause is the longest that a system's own word is taken for. It bounds the harm of a wrong one.
	longestPause = time.Hour
)

// breaker is what is known about one external system's will to serve one ProviderConfig. Whoever uses it holds the lock
// of its limiter.
type breaker struct {
	random func() float64

	cause      cause
	why        string
	until      time.Time
	step       int  // how often in a row the cause appeared
	trying     bool // one call is under way to see whether the cause has gone
	silences   int  // calls in a row without an answer
	generation int  // counts changes of cause, to know the calls that began before
}

// ask says whether a call is refused now and, if so, at what time it is not. A call that is let through although there
// is a cause to refuse it tries that cause, and no other does, once it is taken.
func (b *breaker) ask(now time.Time, take bool) (at time.Time, refused bool) {
	switch {
	case b.trying:
		return now.Add(shortest(b.cause)), true
	case b.open(now):
		return b.until, true
	case take && (b.cause == refusedCredentials || b.cause == noAnswer):
		b.trying = true
		b.generation++
	}
	return time.Time{}, false
}

func (b *breaker) open(now time.Time) bool {
	return b.trying || b.cause != none && now.Before(b.until)
}

// hear takes note of what a call came to that began in the given generation. What calls of earlier generations hear was
// said before the cause changed and tells nothing new, except that a system may ask for more time.
func (b *breaker) hear(now time.Time, generation int, o outcome) {
	if generation != b.generation {
		if at := now.Add(min(o.after, longestPause)); o.verdict == slowDown && b.cause == askedToSlowDown && at.After(b.until) {
			b.until = at
		}
		return
	}
	tried := b.trying
	b.trying = false
	if o.verdict != silent && o.verdict != unclear {
		b.silences = 0
	}
	switch o.verdict {
	case unclear: // the next call tries again
	case served:
		b.close()
	case troubled:
		if b.cause != refusedCredentials {
			b.close()
		} else if tried {
			b.until = now.Add(b.coolOff(b.cause, b.step))
		}
	case slowDown:
		b.slowDown(now, tried, o.after)
	case refused:
		b.refuse(now, refusedCredentials, "")
	case silent:
		if b.silences++; tried && b.cause == refusedCredentials {
			b.until = now.Add(b.coolOff(noAnswer, 1))
		} else if tried || b.silences >= silences {
			b.refuse(now, noAnswer, o.why)
		}
	}
}

// slowDown believes a system that asks for fewer calls. While its word on the credentials is still awaited it does not
// count as accepting them.
func (b *breaker) slowDown(now time.Time, tried bool, after time.Duration) {
	if tried && b.cause == refusedCredentials {
		b.until = now.Add(max(min(after, longestPause), b.coolOff(b.cause, 1)))
		return
	}
	b.refuse(now, askedToSlowDown, "the external system asks for fewer calls")
	if after > 0 {
		b.until = now.Add(min(after, longestPause))
	}
}

// refuse refuses calls from now on, each time in a row for twice as long.
func (b *breaker) refuse(now time.Time, c cause, why string) {
	if b.cause != c {
		b.step = 0
	}
	b.step++
	b.cause, b.why = c, why
	b.until = now.Add(b.coolOff(c, b.step))
	b.generation++
}

// close lets calls be made. Calls under way still count: of many that were let through after a pause, the first may have
// been served and the next asked to slow down.
func (b *breaker) close() {
	*b = breaker{random: b.random, generation: b.generation}
}

// reset lets calls be made, whatever those come to that are under way.
func (b *breaker) reset() {
	*b = breaker{random: b.random, generation: b.generation + 1}
}

// coolOff returns for how long calls are refused when a cause appears for the given time in a row.
func (b *breaker) coolOff(c cause, step int) time.Duration {
	first, most := shortest(c), longest(c)
	d := most
	if shift := step - 1; shift < 16 && first<<shift < most {
		d = first << shift
	}
	if c == askedToSlowDown { // nobody said how long: keep providers from coming back in step
		return d/2 + time.Duration(b.random()*float64(d/2))
	}
	return d
}

func shortest(c cause) time.Duration {
	if c == refusedCredentials {
		return 10 * time.Second
	}
	return time.Second
}

func longest(c cause) time.Duration {
	switch c {
	case refusedCredentials:
		return 5 * time.Minute
	case noAnswer:
		return 30 * time.Second
	default:
		return time.Minute
	}
}
