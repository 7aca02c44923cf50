// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"fmt"
	"testing"
	"time"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
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

// Wherever the process crashes, the next one finishes the work: nothing is leaked, doubled or forgotten (N11, N22, R79).
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for kind, k := range kinds {
		for name, operation := range operations {
			t.Run(fmt.Sprintf("%s with %s (R77, R79, N5, N22)", name, kind), func(t *testing.T) {
				t.Parallel()
				scenario.Script[*crashStage]{
					Given: func(s *crashStage) {
						k.change(s.system)
						operation.prepare(s.stage)
						s.clock = s.clock.Add(time.Minute)
					},
					Then:     (*crashStage).check,
					Requests: 4,
					Kinds:    []fault.Kind{fault.CrashBefore, fault.CrashAfter},
				}.Run(t, func() *crashStage {
					return &crashStage{stage: newStage(t, nil, k.options...), kind: kind, operation: name}
				})
			})
		}
	}
}

// A crashStage is a world for one operation on a kind.
type crashStage struct {
	*stage
	kind, operation string
	recovers        bool
}

// Restart satisfies scenario.World.
func (s *crashStage) Restart(p *fault.Process) {
	s.system.Fault = p.Request
	s.restart(fault.InterceptWrites(s.env.Config, p.Request))
}

// Settle satisfies scenario.World. The first pass does all that there is to do; after a crash more may be needed.
func (s *crashStage) Settle() {
	if !s.recovers {
		s.recovers = true
		_, _ = s.tryPass() // a crashed process has errors
		return
	}
	for range 3 {
		s.pass()
		s.clock = s.clock.Add(time.Minute)
	}
}

// Close satisfies scenario.World. What is left ends with the test.
func (s *crashStage) Close() { s.system.Fault = nil }

func (s *crashStage) check() error {
	resources := s.system.Snapshot()
	if kinds[s.kind].mayNeedHuman && s.thing() != nil && xpv1.FailureOf(s.thing()).Reason == failure.CreateInterrupted {
		if len(resources) > 1 {
			return fmt.Errorf("the object needs manual intervention, yet there are %d resources", len(resources))
		}
		return nil
	}
	if len(resources) != operations[s.operation].want {
		return fmt.Errorf("%d resources, want %d", len(resources), operations[s.operation].want)
	}
	if operations[s.operation].want == 0 {
		if got := s.state(); got != "gone" {
			return fmt.Errorf("the user sees %s", got)
		}
		return nil
	}
	if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
		return fmt.Errorf("the user sees %s: %s", got, s.message())
	}
	for _, have := range resources {
		if want := s.thing().Spec.ForProvider.Size; have.Size != want {
			return fmt.Errorf("size %d, want %d", have.Size, want)
		}
		if got := s.connection()["password"]; kinds[s.kind].keepsPassword && got != have.Password {
			return fmt.Errorf("the secret's password is %q, the resource's %q", got, have.Password)
		}
	}
	return nil
}
