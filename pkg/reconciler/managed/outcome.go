// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"time"

	"github.com/bowline-dev/bowline/pkg/event"
)

// ending says what becomes of a pass after a step.
type ending int

const (
	goOn      ending = iota // to the next step; after the last one: poll again in due time
	waiting                 // for the external system, for a while
	paused                  // until somebody resumes
	stopped                 // until somebody acts
	rejected                // until something changes, or the next poll
	throttled               // for as long as the external system asks
	failed                  // try again, later each time
	conflict                // somebody wrote first, and the watch brings us back
	gone                    // no object left to write to
)

// bad is true for endings that the user sees as an error.
func (e ending) bad() bool {
	return e == stopped || e == rejected || e == throttled || e == failed
}

// An outcome is what a step came to. Steps end in outcomes; only settle acts on them.
type outcome struct {
	end     ending
	reason  event.Reason
	err     error
	message string
	after   time.Duration
}

// next goes on to the following step.
func next() outcome { return outcome{end: goOn} }

// await ends the pass well: there is nothing to do until the external system moves on. The object is looked at again in
// due time, at the latest after the given time if it is not zero; the message says what is waited for.
func await(atMost time.Duration, message string) outcome {
	return outcome{end: waiting, after: atMost, message: message}
}

// pause ends the pass because somebody paused the object.
func pause(message string) outcome { return outcome{end: paused, message: message} }

// stop ends the pass until a person acts on the error.
func stop(reason event.Reason, err error) outcome {
	return outcome{end: stopped, reason: reason, err: err}
}

// reject ends the pass with an error that the same input would meet again: it is tried at the next poll, or when
// something changes.
func reject(reason event.Reason, err error) outcome {
	return outcome{end: rejected, reason: reason, err: err}
}

// fail ends the pass with an error, to be tried again: later each time, unless the error itself knows better.
func fail(reason event.Reason, err error) outcome {
	o := outcome{end: failed, reason: reason, err: err}
	if after, asked := retryAfter(err); asked {
		o.end, o.after = throttled, after
	} else if isTerminal(err) {
		o.end = rejected
	}
	return o
}
