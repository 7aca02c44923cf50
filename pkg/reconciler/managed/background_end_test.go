// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// passUntilTold reconciles until an event of the given reason was emitted, and no further.
func (s *stage) passUntilTold(reason event.Reason) {
	s.t.Helper()
	s.env.Eventually(s.t, string(reason), func(context.Context) error {
		if _, err := s.tryPass(); err != nil {
			return err
		}
		if told := s.events.Take(); !slices.Contains(told, reason) {
			return fmt.Errorf("told %v, the user sees %s", told, s.background())
		}
		return nil
	})
}

func TestBackgroundOvertaken(t *testing.T) {
	t.Parallel()
	t.Run("a newer spec is sent by the pass that takes up the end of the update (R24, R197)", func(t *testing.T) {
		t.Parallel()
		s := inBackground(t)
		s.passUntil("Finished Success")
		s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
		release := s.hold("Update", nil)
		s.pass()
		s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 3 })
		release()
		s.passUntilTold(managed.ReasonUpdated)
		if got := s.background(); got != "Ongoing Success" {
			t.Fatalf("the user sees %s, want the next update to go on", got)
		}
		s.env.Eventually(t, "the resource has the newer size", func(context.Context) error {
			if have := s.has().Size; have != 3 {
				return fmt.Errorf("it has size %d", have)
			}
			return nil
		})
	})
}

// A pause lets what runs in the background end, and forgets nothing of it.
func TestBackgroundPause(t *testing.T) {
	t.Parallel()
	for name, by := range pauses {
		t.Run("a creation, by "+name+" (R98, R100, R197, N22)", func(t *testing.T) {
			t.Parallel()
			s := inBackground(t, managed.WithVendorNames())
			s.system.VendorNames = true
			release := s.hold("Create", nil)
			s.pass()
			s.edit(by.pause)
			if after := s.pass(); after != 0 || s.state() != "Ready=Creating Synced=ReconcilePaused" {
				t.Errorf("while the call goes on the user sees %s, it comes back after %s", s.state(), after)
			}
			release()
			s.passUntil("Finished Success")
			if got := s.state(); !strings.HasSuffix(got, "Synced=ReconcilePaused") {
				t.Errorf("after the call the user sees %s", got)
			}
			if name, password := meta.GetExternalName(s.thing()), s.connection()["password"]; name != "vendor-1" || password != "password-1" {
				t.Errorf("external name %q, password %q", name, password)
			}
			s.restart(s.env.Config)
			s.edit(by.resume)
			s.clock = s.clock.Add(time.Hour)
			s.pass()
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || len(s.system.Snapshot()) != 1 {
				t.Errorf("resumed, the user sees %s, resources %v", got, s.system.Snapshot())
			}
		})
	}
}

// An object does not say for ever that a call goes on that nobody knows of any more.
func TestBackgroundEndIsLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(s *stage, away *bool){
		"with its process (R188, R197)": func(s *stage, _ *bool) {
			s.restart(s.env.Config)
		},
		"in a status that could not be written (R188, R197)": func(s *stage, away *bool) {
			*away = true
			s.env.Eventually(s.t, "the end is taken up", func(context.Context) error {
				if _, err := s.tryPass(); err == nil {
					return errors.New("nothing to write yet")
				}
				return nil
			})
			*away = false
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inBackground(t)
			away := false
			s.restart(fault.InterceptWrites(s.env.Config, func(request string) (refuse, lose error) {
				if away && strings.HasSuffix(request, "/status") {
					return errors.New("the API server is away"), nil
				}
				return nil, nil
			}))
			release := s.hold("Create", nil)
			s.pass()
			if got := s.background(); got != "Ongoing " {
				t.Fatalf("the user sees %s", got)
			}
			release()
			lose(s, &away)
			s.pass()
			if got := s.background(); got != "Finished " {
				t.Errorf("the user sees %s", got)
			}
		})
	}
}

// A system that shows what it made a moment later, and a kind that declares that it never does.
func TestBackgroundWithoutGrace(t *testing.T) {
	t.Parallel()
	t.Run("the end of a creation begins no other one (R88, R197, N5)", func(t *testing.T) {
		t.Parallel()
		s := inBackground(t, managed.WithVendorNames(), managed.WithCreationGracePeriod(0))
		s.system.VendorNames, s.system.Hidden = true, true
		s.passUntil("Finished Success")
		if mg := s.thing(); meta.ExternalCreateIncomplete(mg) || s.system.Called("Create") != 1 {
			t.Errorf("Create was called %d times, annotations %v", s.system.Called("Create"), mg.Annotations)
		}
		s.system.Do(func(sys *thing.System) { sys.Hidden = false })
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || len(s.system.Snapshot()) != 1 {
			t.Errorf("the user sees %s, resources %v", got, s.system.Snapshot())
		}
	})
}

// What a call in the background sets in the status counts as if the call had been made within the pass.
func TestBackgroundStatus(t *testing.T) {
	t.Parallel()
	queued := xpv1.Condition{Type: "Progress", Status: "True", Reason: "Queued", LastTransitionTime: metav1.Now()}
	for name, tc := range map[string]struct {
		options []managed.ReconcilerOption
		create  func(*stage)
		bound   xpv1.BindingPhase // by somebody else, while the call goes on
	}{
		"within the pass (R30, R32)": {create: func(s *stage) { s.pass() }},
		"in the background (R30, R32, R197)": {
			options: []managed.ReconcilerOption{managed.WithBackgroundOperations(time.Minute)},
			bound:   xpv1.BindingPhaseBound,
			create: func(s *stage) {
				release := s.hold("Create", nil)
				s.pass()
				s.alterStatus(s.key, func(mg *thing.Thing) { mg.SetBindingPhase(xpv1.BindingPhaseBound) })
				release()
				s.passUntilTold(managed.ReasonCreated)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, tc.options...)
			s.through(altering{created: func(mg *thing.Thing, _ *managed.ExternalCreation) {
				mg.SetConditions(queued, xpv1.Unavailable())
				mg.Status.AtProvider.Size = 99
			}})
			tc.create(s)
			mg := s.thing()
			if got := mg.GetCondition("Progress").Reason; got != "Queued" {
				t.Errorf("the condition that Create set is %q", got)
			}
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || mg.Status.AtProvider.Size != 1 {
				t.Errorf("Observe should have the last word, the user sees %s, %+v", got, mg.Status.AtProvider)
			}
			if got := mg.GetBindingPhase(); got != tc.bound {
				t.Errorf("what somebody else wrote meanwhile is now %q", got)
			}
		})
	}
}
