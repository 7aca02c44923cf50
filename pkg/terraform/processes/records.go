// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
)

const (
	// steady is how long a process lives that is no part of a crash loop.
	steady = 10 * time.Minute
	// tolerated is how many times in a row a process may end, or not start, before its next start waits.
	tolerated = 2
	// longestPause is between the starts of a process that keeps ending, or that cannot be started. The first pause is a second.
	longestPause = time.Minute
	// forgotten is how long a process is reported that cannot be started, and that nothing tries to start any more.
	forgotten = 15 * time.Minute
	// closing is how long it takes at most from the close of a process to the start of its successor, if there is one.
	closing = time.Minute
)

// A State is what became of a process.
type State string

// The states of processes.
const (
	Running     State = "Running"
	Ended       State = "Ended"       // by itself: it starts again at its next use
	KeepsEnding State = "KeepsEnding" // it starts again after a pause
	CannotStart State = "CannotStart" // or the provider refuses the configuration
)

// A Status is what is known of the process of one configuration.
type Status struct {
	Config  limits.Key
	State   State
	Reason  failure.Reason // why it cannot be started
	Started time.Time      // zero if it never was; where another process replaced one that had grown, when that was
	// Restarts is how often it was started again after it ended by itself.
	Restarts int
	// Unsteady is true for a process that kept ending, until it lives for ten minutes.
	Unsteady bool
	// Memory is the resident memory in bytes, with that of the journal: 0 if it does not run, or if it is not known.
	Memory int64
}

// processes are those of all configurations in use.
type processes struct {
	mu       sync.Mutex
	records  map[limits.Key]*record
	restarts int
}

// A record is about the present process of a configuration, and its predecessors.
type record struct {
	Status
	last    *Process  // nil if it is closed, or could not be started
	closed  time.Time // zero while it is in use
	crashed bool      // and was not started again since
	of      origin
	began   time.Time // when the present process was started
	used    time.Time // when it was last started, or was to be
	faults  int       // in a row: it ended by itself soon, or could not be started
	err     error     // why the next start waits
	again   time.Time // when the next start is due
}

// An origin is what a process is started from. Another one is started at once.
type origin struct {
	version limits.Version
	binary  *Binary
}

// of returns the record of a configuration. The caller holds the lock.
func (p *processes) of(key limits.Key) *record {
	if p.records == nil {
		p.records = map[limits.Key]*record{}
	}
	r := p.records[key]
	if r == nil {
		r = &record{Status: Status{Config: key}}
		p.records[key] = r
	}
	return r
}

// admit returns why a process is not to be started yet.
func (p *processes) admit(key limits.Key, of origin, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.of(key)
	r.used, r.closed = now, time.Time{}
	if r.of != of {
		r.of, r.faults, r.again = of, 0, time.Time{}
	}
	if !now.Before(r.again) {
		return nil
	}
	return r.err
}

var errKeepsEnding = failure.New(failure.ProviderConfigUnavailable, "the process of the Terraform provider keeps ending by itself, and is started again "+
	"after a pause: see the log of the controllers, and the memory of their machine")

// started records the attempt to start a process. news is false for the same error as before, again true after a process ended by itself.
func (p *processes) started(key limits.Key, process *Process, err error, now time.Time) (news, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.of(key)
	before := r.Status
	goesOn := r.State == Running && (r.last == nil || r.last.hasGrown())
	r.closed = time.Time{} // the former one may have been closed since this start began
	if r.last = process; err != nil {
		r.State, r.Reason = CannotStart, failure.Of(failure.Default(failure.ProviderConfigUnavailable, err)).Reason
		r.fail(err, now)
		return r.Status != before, false
	}
	if again = r.crashed; again {
		r.Restarts++
		p.restarts++
	} else {
		r.faults = 0
	}
	r.began = now
	if r.crashed = false; goesOn {
		return false, again
	}
	r.State, r.Reason, r.Started = Running, "", now
	return true, again
}

func (r *record) fail(err error, now time.Time) {
	r.faults++
	if r.err = err; r.faults > tolerated {
		r.again = now.Add(min(time.Second<<min(r.faults-tolerated-1, 10), longestPause))
	}
}

// ended records that a process ended by itself. It is false for one that was closed or replaced.
func (p *processes) ended(key limits.Key, process *Process, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.records[key]
	if r == nil || r.last != process {
		return false
	}
	if now.Sub(r.began) >= steady {
		r.faults = 0
	}
	r.State, r.crashed = Ended, true
	if r.fail(errKeepsEnding, now); r.faults > tolerated {
		r.State, r.Unsteady = KeepsEnding, true
	}
	return true
}

// closed records that a process is closed: nothing uses it any more, or it is being replaced. It is false if it was replaced before.
func (p *processes) closed(key limits.Key, process *Process, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.records[key]
	if r == nil || r.last != process {
		return false
	}
	if r.last, r.closed = nil, now; process.hasGrown() {
		return false // the next one goes on, or the record is forgotten soon
	}
	if !r.crashed {
		r.State = ""
	}
	return true
}

// all returns the processes in the order of their configurations, and how often any was started again.
func (p *processes) all(now time.Time) (all []Status, restarts int) {
	running := map[limits.Key]*Process{}
	p.mu.Lock()
	for key, r := range p.records {
		switch {
		case !r.closed.IsZero() && now.Sub(r.closed) > closing, r.State != Running && now.Sub(r.used) > forgotten:
			delete(p.records, key)
			continue
		case r.State == Running:
			running[key] = r.last
			r.Unsteady = r.Unsteady && now.Sub(r.Started) < steady
		case r.State == "":
			continue // it is being started, or is gone
		}
		all = append(all, r.Status)
	}
	restarts = p.restarts
	p.mu.Unlock()
	for i := range all {
		if of := running[all[i].Config]; of != nil {
			all[i].Memory = of.Memory()
		}
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Config.Kind, b.Config.Kind), cmp.Compare(a.Config.Namespace, b.Config.Namespace), cmp.Compare(a.Config.Name, b.Config.Name))
	})
	return all, restarts
}
