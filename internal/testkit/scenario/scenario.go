// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scenario runs scripts of what users and vendors do, first without a fault and then with a fault at every request of the
// controllers.
//
// Its one idea: what must hold at the end does not depend on where a process was cut. So a Script states once what happens and what
// holds then, and the engine tries every point. A World is where it happens: the fake or real servers, and controllers that can be
// started anew.
//
//	scenario.Script[*stage]{
//		Given: func(s *stage) { s.create(thing) },
//		When:  []func(*stage){func(s *stage) { s.delete(thing) }},
//		Then:  (*stage).checkDeleted,
//	}.Run(t, func() *stage { return newStage(t) })
//
// Programs that report in their own way, and run trials in parallel, use the Explorer alone.
package scenario

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
)

// A Trial is one run of a scenario.
type Trial struct {
	// Process is the one that the fault, if any, happens to.
	Process *fault.Process
	// Order is the points of the run without a fault. That run has none.
	Order []fault.Point
	// Number of the point in Order, from 1.
	Number int
}

// String returns the point and the fault.
func (t Trial) String() string {
	if t.Number == 0 {
		return "without a fault"
	}
	return fmt.Sprintf("point %d, %s, %s", t.Number, t.Order[t.Number-1], t.Process.Kind)
}

// An Explorer runs a scenario once without a fault, and once for each fault at each point of that run.
type Explorer struct {
	// Run runs a trial. If the result of the run without a fault is not good, that run is the only one. An error is a failure of
	// the test itself.
	Run func(Trial) (good bool, err error)
	// Points to try, of the run without a fault. Default: all its requests, by their number.
	Points func(*fault.Process) []fault.Point
	// Kinds of faults at a request. Default: crashes and lost answers.
	Kinds func(request string) []fault.Kind
	// Only one point, by its number. Default: all.
	Only int
	// Attempts to reach a point that depends on timing. Default: 1.
	Attempts int
	// Parallel runs all trials at once.
	Parallel bool
}

// Explore runs all trials. It returns the points, and the trials whose point was not reached.
func (e Explorer) Explore() (order []fault.Point, missed []Trial, err error) {
	clean := Trial{Process: &fault.Process{}}
	if good, err := e.Run(clean); !good || err != nil {
		return nil, nil, err
	}
	requests := clean.Process.Requests()
	if e.Points != nil {
		requests = e.Points(clean.Process)
	}
	if e.Only > len(requests) {
		return nil, nil, fmt.Errorf("there are %d points only: %s", len(requests), fault.Numbered(requests))
	}
	var (
		mu  sync.Mutex
		all sync.WaitGroup
	)
	for i, request := range requests {
		if e.Only != 0 && e.Only != i+1 {
			continue
		}
		for _, kind := range e.kinds(request.Request) {
			trial := func() {
				last, reached, failure := e.attempt(requests, i, kind)
				mu.Lock()
				defer mu.Unlock()
				if failure != nil {
					err = errors.Join(err, fmt.Errorf("%s: %w", last, failure))
				} else if !reached {
					missed = append(missed, last)
				}
			}
			if all.Go(trial); !e.Parallel {
				all.Wait()
			}
		}
	}
	all.Wait()
	return requests, missed, err
}

func (e Explorer) kinds(request string) []fault.Kind {
	if e.Kinds != nil {
		return e.Kinds(request)
	}
	return fault.Kinds(request, false)
}

// attempt runs a trial until its point is reached, or all attempts are used up.
func (e Explorer) attempt(order []fault.Point, i int, kind fault.Kind) (t Trial, reached bool, err error) {
	at := order[i]
	if e.Points == nil {
		at = fault.Point{N: i + 1}
	}
	for range max(1, e.Attempts) {
		t = Trial{Process: &fault.Process{At: at, Kind: kind}, Order: order, Number: i + 1}
		if _, err := e.Run(t); err != nil || t.Process.Reached() {
			return t, true, err
		}
	}
	return t, false, nil
}

// A World is where one run of a script happens. It fails its test on its own errors.
type World interface {
	// Restart replaces the controllers by new ones without memory. Process counts their requests and injects its fault.
	Restart(process *fault.Process)
	// Settle reconciles until the controllers have nothing left to do, or as often as that takes. Errors of a crashed process are
	// expected.
	Settle()
	// Close removes what the run left behind.
	Close()
}

// An Invariant is a World that knows what holds at any time. It is checked whenever the controllers have settled, and after a crash.
type Invariant interface {
	// Invariant returns an error that describes the violation.
	Invariant() error
}

// A Script is a scenario.
type Script[W World] struct {
	// Given is what was before, without a fault. Optional.
	Given func(W)
	// When are the events, in order. The controllers settle after each. Without events, they settle once.
	When []func(W)
	// Then returns what is wrong when all has settled.
	Then func(W) error
	// Requests is the least number of points: a run that does less proves nothing.
	Requests int
	// Kinds of faults to try. Default: crashes and lost answers.
	Kinds []fault.Kind
}

// Run runs the script in new worlds, without a fault and with every fault at every request.
func (s Script[W]) Run(t *testing.T, newWorld func() W) {
	t.Helper()
	e := Explorer{Run: func(trial Trial) (bool, error) {
		t.Helper()
		return s.try(t, newWorld(), trial), nil
	}}
	if s.Kinds != nil {
		e.Kinds = func(string) []fault.Kind { return s.Kinds }
	}
	order, missed, err := e.Explore()
	if err != nil {
		t.Error(err)
	}
	if len(order) < s.Requests {
		t.Errorf("a run without a fault has only these requests: %s", fault.Numbered(order))
	}
	for _, trial := range missed {
		t.Errorf("%s: not reached; the requests were %s", trial, trial.Process)
	}
}

func (s Script[W]) try(t *testing.T, w W, trial Trial) (good bool) {
	t.Helper()
	defer w.Close()
	if s.Given != nil {
		s.Given(w)
	}
	w.Restart(trial.Process)
	good = true
	check := func(err error) {
		t.Helper()
		if err != nil {
			good = false
			t.Errorf("%s: %v; the requests were %s", trial, err, trial.Process)
		}
	}
	events := s.When
	if len(events) == 0 {
		events = []func(W){func(W) {}}
	}
	recovered := false
	for _, event := range events {
		event(w)
		w.Settle()
		check(invariant(w))
		if trial.Process.Crashed() && !recovered {
			recovered = true
			w.Restart(&fault.Process{})
			w.Settle()
			check(invariant(w))
		}
	}
	check(s.Then(w))
	return good
}

func invariant(w World) error {
	if i, has := w.(Invariant); has {
		return i.Invariant()
	}
	return nil
}
