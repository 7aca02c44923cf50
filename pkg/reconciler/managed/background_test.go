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

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// background is what the user sees of calls in the background.
func (s *stage) background() string {
	s.t.Helper()
	mg := s.thing()
	if mg == nil {
		return "gone"
	}
	return fmt.Sprintf("%s %s", mg.GetCondition(xpv1.TypeAsyncOperation).Reason, mg.GetCondition(xpv1.TypeLastAsyncOperation).Reason)
}

// passUntil reconciles until the user sees the given state of calls in the background.
func (s *stage) passUntil(want string) {
	s.t.Helper()
	s.env.Eventually(s.t, want, func(context.Context) error {
		if _, err := s.tryPass(); err != nil {
			return err
		}
		if got := s.background(); got != want {
			return fmt.Errorf("the user sees %s", got)
		}
		return nil
	})
}

// hold makes calls of a verb take until release is called, and then end in the given error.
func (s *stage) hold(verb string, refuse error) (release func()) {
	held := make(chan struct{})
	s.system.Do(func(sys *thing.System) {
		sys.Fault = func(called string) (error, error) {
			if called != verb {
				return nil, nil
			}
			<-held
			return refuse, nil
		}
	})
	return func() { close(held) }
}

func inBackground(t *testing.T, o ...managed.ReconcilerOption) *stage {
	t.Helper()
	return newStage(t, nil, append(o, managed.WithBackgroundOperations(time.Minute))...)
}

func TestBackgroundCreate(t *testing.T) {
	t.Parallel()
	s := inBackground(t)
	release := s.hold("Create", nil)
	t.Run("the pass ends while the call goes on (R197, R189, T53)", func(t *testing.T) {
		s.pass()
		if got := s.background() + " " + s.state(); got != "Ongoing  Ready=Creating Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s", got)
		}
		before := s.thing().ResourceVersion
		s.pass()
		if after := s.thing().ResourceVersion; after != before {
			t.Error("waiting is written again (N13)")
		}
	})
	release()
	t.Run("its end is acted on (R188, R190, R207)", func(t *testing.T) {
		s.passUntil("Finished Success")
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s", got)
		}
		if got := s.connection()["password"]; got != "password-1" {
			t.Errorf("the secret's password is %q", got)
		}
		if created := s.system.Called("Create"); created != 1 {
			t.Errorf("created %d times", created)
		}
	})
}

func TestBackgroundFailures(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		verb   string
		act    func(*stage)
		want   string
		reason event.Reason
	}{
		"a refused creation (R191)": {verb: "Create", act: func(*stage) {}, want: "Finished ApplyFailure", reason: managed.ReasonCannotCreate},
		"a refused update shows in Synced (R191, R27)": {verb: "Update", act: func(s *stage) {
			s.passUntil("Finished Success")
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
		}, want: "Finished ApplyFailure", reason: managed.ReasonCannotUpdate},
		"a refused deletion (R192, R60)": {verb: "Delete", act: func(s *stage) {
			s.passUntil("Finished Success")
			s.delete()
		}, want: "Finished DestroyFailure", reason: managed.ReasonCannotDelete},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inBackground(t)
			tc.act(s)
			s.events.Take()
			release := s.hold(tc.verb, errors.New("over quota"))
			release()
			s.passUntil(tc.want)
			s.wantMessage("over quota")
			if got := s.thing().GetCondition(xpv1.TypeSynced).Reason; got != xpv1.ReasonReconcileError {
				t.Errorf("Synced is %s", got)
			}
			if events := s.events.Take(); len(events) != 1 || events[0] != tc.reason {
				t.Errorf("events %v, want %s", events, tc.reason)
			}
			s.system.Do(func(sys *thing.System) { sys.Fault = nil })
			if tc.verb == "Delete" {
				s.passUntil("gone")
				return
			}
			s.passUntil("Finished Success")
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
				t.Errorf("the user sees %s", got)
			}
		})
	}
}

// A process that dies while a creation runs in the background leaves it pending, and the next one follows the same rules
// as after any creation that was cut off.
func TestBackgroundCrash(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options []managed.ReconcilerOption
		want    string
	}{
		"a name that is known is found (R197, N5)":    {want: "Ready=Available Synced=ReconcileSuccess"},
		"a name that nobody knows is not (R197, R84)": {options: []managed.ReconcilerOption{managed.WithVendorNames()}, want: "ReconcileError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inBackground(t, tc.options...)
			s.system.Unlabelled, s.system.VendorNames = true, len(tc.options) > 0
			release := s.hold("Create", nil)
			s.pass()
			s.restart(s.env.Config) // what the dead process asked for is done all the same, and nobody hears of it
			release()
			s.env.Eventually(t, "the resource exists", func(context.Context) error {
				if n := len(s.system.Snapshot()); n != 1 {
					return fmt.Errorf("%d resources", n)
				}
				return nil
			})
			s.pass()
			if got := s.state(); !strings.HasSuffix(got, tc.want) {
				t.Errorf("the user sees %s: %s", got, s.message())
			}
			if n := len(s.system.Snapshot()); n != 1 {
				t.Errorf("%d resources", n)
			}
		})
	}
}

// The provider's code must not end the process, whose other objects are well, and whoever looks at the object has to know.
func TestPanic(t *testing.T) {
	t.Parallel()
	stumble := func(s *stage) {
		s.system.Do(func(sys *thing.System) {
			sys.Fault = func(verb string) (error, error) {
				if verb == "Create" {
					var nobody *thing.Thing
					nobody.Name = "a mistake of the provider"
				}
				return nil, nil
			}
		})
	}
	t.Run("in the background (R197, R185)", func(t *testing.T) {
		t.Parallel()
		s := inBackground(t)
		stumble(s)
		s.passUntil("Finished ApplyFailure")
		s.wantMessage("panicked during create")
		if got := s.events.Take(); !slices.Contains(got, managed.ReasonPanicked) {
			t.Errorf("the events are %v (R185)", got)
		}
		if got := xpv1.FailureOf(s.thing()); got.Reason != failure.ProviderPanicked {
			t.Errorf("the failure is %+v", got)
		}
	})
	t.Run("in a pass, and all goes well once it is mended (R185)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		registry := s.measure()
		stumble(s)
		s.pass()
		s.wantMessage("the provider's code panicked")
		if calls := counted(t, registry, "bowline_external_call_duration_seconds"); calls["unknown create"] != 1 {
			t.Errorf("the calls are %v", calls)
		}
		s.system.Do(func(sys *thing.System) { sys.Fault = nil })
		s.clock = s.clock.Add(time.Minute)
		s.pass()
		if n := len(s.system.Snapshot()); n != 1 {
			t.Errorf("%d resources", n)
		}
	})
}
