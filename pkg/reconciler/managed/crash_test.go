// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Kinds of external systems, by what they offer against crashes.
var kinds = map[string]struct {
	change        func(*thing.System)
	options       []managed.ReconcilerOption
	keepsPassword bool
	mayNeedHuman  bool
}{
	"tokens":             {change: func(s *thing.System) { s.Replays = true }, keepsPassword: true},
	"chosen credentials": {change: func(s *thing.System) { s.Chooses = true }, keepsPassword: true},
	"labels only":        {change: func(*thing.System) {}},
	"no labels":          {change: func(s *thing.System) { s.Unlabelled = true }},
	"tokens and vendor names": {
		change:        func(s *thing.System) { s.VendorNames, s.Replays = true, true },
		options:       []managed.ReconcilerOption{managed.WithVendorNames()},
		keepsPassword: true,
	},
	"vendor names, findable": {
		change:  func(s *thing.System) { s.VendorNames, s.Finds = true, true },
		options: []managed.ReconcilerOption{managed.WithVendorNames()},
	},
	"vendor names": {
		change:       func(s *thing.System) { s.VendorNames = true },
		options:      []managed.ReconcilerOption{managed.WithVendorNames()},
		mayNeedHuman: true,
	},
}

// Operations on an object; prepare happens in good health.
var operations = map[string]struct {
	prepare func(*stage)
	want    int // external resources in the end
}{
	"create": {prepare: func(*stage) {}, want: 1},
	"update": {prepare: func(s *stage) {
		s.pass()
		s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
	}, want: 1},
	"recreate": {prepare: func(s *stage) {
		s.pass()
		s.system.Do(func(sys *thing.System) { clear(sys.Resources) })
	}, want: 1},
	"delete": {prepare: func(s *stage) { s.pass(); s.delete() }, want: 0},
}

// Wherever the process dies, the next one finishes the work: nothing is leaked, doubled or forgotten (N11, N22, R79).
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for operation := range operations {
			t.Run(fmt.Sprintf("R77 R79 N5 N22 %s with %s", operation, kind), func(t *testing.T) {
				t.Parallel()
				clean := &fault.Process{}
				whole := newCrashStage(t, kind, operation)
				whole.run(clean)
				whole.check("not cut")
				if len(clean.Requests()) < 4 {
					t.Fatalf("a clean run did only %v", clean.Requests())
				}
				for point := 1; point <= len(clean.Requests()); point++ {
					for _, how := range []fault.Kind{fault.CrashBefore, fault.CrashAfter} {
						s := newCrashStage(t, kind, operation)
						life := &fault.Process{At: fault.Point{N: point}, Kind: how}
						s.run(life)
						s.recover()
						s.check(fmt.Sprintf("cut at %d of %v (it %s)", point, life.Requests(), how))
					}
				}
			})
		}
	}
}

type crashStage struct {
	*stage
	kind, operation string
}

func newCrashStage(t *testing.T, kind, operation string) *crashStage {
	k := kinds[kind]
	s := newStage(t, nil, k.options...)
	k.change(s.system)
	operations[operation].prepare(s)
	s.clock = s.clock.Add(time.Minute)
	return &crashStage{stage: s, kind: kind, operation: operation}
}

// run makes the pass in which a process of the given life does it all; further ones would only look.
func (s *crashStage) run(life *fault.Process) {
	s.system.Fault = func(verb string) (error, error) { return life.Request(verb) }
	s.restart(fault.InterceptWrites(s.env.Config, life.Request))
	_, _ = s.tryPass() // a dying process has no one to tell
	s.system.Fault = nil
}

// recover reconciles with a new process until all is quiet.
func (s *crashStage) recover() {
	s.restart(s.env.Config)
	for range 3 {
		s.pass()
		s.clock = s.clock.Add(time.Minute)
	}
}

func (s *crashStage) check(where string) {
	s.t.Helper()
	resources := s.system.Snapshot()
	if kinds[s.kind].mayNeedHuman && s.thing() != nil && strings.Contains(s.message(), "cannot determine creation result") {
		if len(resources) > 1 {
			s.t.Errorf("%s: waits for a person, yet there are %d resources", where, len(resources))
		}
		return
	}
	if len(resources) != operations[s.operation].want {
		s.t.Errorf("%s: %d resources, want %d", where, len(resources), operations[s.operation].want)
	}
	if operations[s.operation].want == 0 {
		if got := s.state(); got != "gone" {
			s.t.Errorf("%s: the user sees %s", where, got)
		}
		return
	}
	if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
		s.t.Errorf("%s: the user sees %s: %s", where, got, s.message())
	}
	for _, have := range resources {
		if want := s.thing().Spec.ForProvider.Size; have.Size != want {
			s.t.Errorf("%s: size %d, want %d", where, have.Size, want)
		}
		if got := s.connection()["password"]; kinds[s.kind].keepsPassword && got != have.Password {
			s.t.Errorf("%s: the secret's password is %q, the resource's %q", where, got, have.Password)
		}
	}
}
