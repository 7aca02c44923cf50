// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
)

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
