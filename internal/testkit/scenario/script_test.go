// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
)

// A shelf is a world whose controller moves items from the order to the shelf, one request each, and then bills them.
type shelf struct {
	t             *testing.T
	process       *fault.Process
	order, stored []string
	billed        bool
	careless      bool // it stores again what it has
	runs          *int
}

func (s *shelf) Restart(p *fault.Process) { s.process = p }

func (s *shelf) Close() { *s.runs++ }

func (s *shelf) Settle() {
	for range 2 {
		_ = s.reconcile() // errors of faults are expected
	}
}

func (s *shelf) reconcile() error {
	for _, item := range s.order {
		if !slices.Contains(s.stored, item) || s.careless {
			if err := s.send("PUT item", func() { s.stored = append(s.stored, item) }); err != nil {
				return err
			}
		}
	}
	if s.billed {
		return nil
	}
	return s.send("POST bill", func() { s.billed = true })
}

func (s *shelf) send(request string, serve func()) error {
	refuse, lose := s.process.Request(request)
	if refuse != nil {
		return refuse
	}
	serve()
	return lose
}

func (s *shelf) Invariant() error {
	if all := slices.Compact(slices.Sorted(slices.Values(s.stored))); len(all) != len(s.stored) {
		return fmt.Errorf("stored twice: %v", s.stored)
	}
	return nil
}

func script() scenario.Script[*shelf] {
	add := func(item string) func(*shelf) { return func(s *shelf) { s.order = append(s.order, item) } }
	return scenario.Script[*shelf]{
		Given: add("cup"), When: []func(*shelf){add("pot"), add("pan")}, Requests: 4,
		Then: func(s *shelf) error {
			if len(s.stored) != 3 || !s.billed {
				return fmt.Errorf("stored %v, billed: %t", s.stored, s.billed)
			}
			return nil
		},
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	t.Run("every fault is tried at every request", func(t *testing.T) {
		t.Parallel()
		runs := 0
		script().Run(t, func() *shelf { return &shelf{t: t, runs: &runs} })
		if want := 1 + 4*3; runs != want {
			t.Errorf("%d runs, want %d", runs, want)
		}
	})
	t.Run("without events the controllers settle once", func(t *testing.T) {
		t.Parallel()
		runs, s := 0, script()
		given := s.Given
		s.Given = func(w *shelf) { given(w); s.When[0](w); s.When[1](w) }
		quiet := scenario.Script[*shelf]{Given: s.Given, Then: s.Then, Requests: 4, Kinds: []fault.Kind{fault.CrashAfter}}
		quiet.Run(t, func() *shelf { return &shelf{t: t, runs: &runs} })
		if runs != 1+4 {
			t.Errorf("%d runs", runs)
		}
	})
}

// An explorer reports what its points are, and which of them it does not reach again.
func TestExplorer(t *testing.T) {
	t.Parallel()
	requests := []string{"GET a", "PUT a", "GET a"}
	var tried []string
	run := func(trial scenario.Trial) (bool, error) {
		tried = append(tried, trial.String())
		for i, request := range requests {
			if i != 1 || trial.Number == 0 { // the second request comes once only
				_, _ = trial.Process.Request(request)
			}
		}
		return true, nil
	}
	e := scenario.Explorer{Run: run, Points: (*fault.Process).Order, Attempts: 2,
		Kinds: func(string) []fault.Kind { return []fault.Kind{fault.AnswerLost} }}
	order, missed, err := e.Explore()
	if err != nil || len(order) != 2 || len(missed) != 1 || missed[0].String() != "point 2, PUT a (1.), lost answer" {
		t.Errorf("points %v, missed %v, %v", order, missed, err)
	}
	want := []string{"without a fault", "point 1, GET a (1.), lost answer", missed[0].String(), missed[0].String()}
	if diff := cmp.Diff(want, tried); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	e.Only = 3
	if _, _, err := e.Explore(); err == nil {
		t.Error("a point that does not exist is accepted")
	}
}

// What is wrong without a fault is reported alone.
func TestExplorerStopsWhereTheCleanRunFails(t *testing.T) {
	t.Parallel()
	runs := 0
	order, _, err := scenario.Explorer{Run: func(trial scenario.Trial) (bool, error) {
		runs++
		_, _ = trial.Process.Request("PUT a")
		return false, nil
	}}.Explore()
	if runs != 1 || order != nil || err != nil {
		t.Errorf("%d runs, %v, %v", runs, order, err)
	}
}
