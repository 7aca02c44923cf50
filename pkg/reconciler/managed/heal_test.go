// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// vendorNamed is a stage for a kind whose names the system makes up, with a creation that began and has no result.
func vendorNamed(t *testing.T, finds bool, o ...managed.ReconcilerOption) *stage {
	t.Helper()
	s := newStage(t, func(mg *thing.Thing) {
		mg.Annotations = map[string]string{meta.AnnotationKeyExternalCreatePending: pending}
		mg.Finalizers = []string{managed.Finalizer}
	}, append(o, managed.WithVendorNames())...)
	s.system.VendorNames, s.system.Finds = true, finds
	return s
}

// leave is what an interrupted creation left behind.
func (s *stage) leave() {
	s.system.Resources["left-behind"] = thing.Resource{Size: 1, Owner: s.thing().UID}
}

// A kind whose client cannot find what was created waits for a person, in peace.
func TestWaitsForPerson(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*stage){
		"after an interrupted create (R81, R84, R85, R91, R201, R225, N5)": func(*stage) {},
		"in deletion (R81, R84, R85, R91, N32)":                            func(s *stage) { s.delete() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := vendorNamed(t, false)
			s.leave()
			prepare(s)
			writes := s.countWrites()
			wrote := 1
			for range 3 {
				if after := s.pass(); after != 0 || len(*writes) != wrote {
					t.Errorf("comes back after %s, wrote %v", after, *writes)
				}
				s.clock = s.clock.Add(time.Hour)
			}
			if diff := cmp.Diff([]string{"Connect", "Connect", "Connect"}, s.system.TakeCalls()); diff != "" {
				t.Errorf("calls -want +got:\n%s", diff)
			}
			want := event.Event{Type: "Warning", Reason: managed.ReasonCannotInitialize,
				Message: "cannot determine creation result - remove the crossplane.io/external-create-pending annotation if it is safe to proceed"}
			if diff := cmp.Diff([]event.Event{want}, s.events.All()); diff != "" {
				t.Errorf("events -want +got:\n%s", diff)
			}
			if got := s.state(); got != "Ready= Synced=ReconcileError" || s.message() != want.Message {
				t.Errorf("the user sees %s: %s", got, s.message())
			}
			if got := s.thing().Annotations[meta.AnnotationKeyExternalCreatePending]; got != pending {
				t.Errorf("the annotation is now %q (R87)", got)
			}
		})
	}
	t.Run("removing the annotation resumes (R86, N5)", func(t *testing.T) {
		t.Parallel()
		s := vendorNamed(t, false)
		s.pass()
		s.annotate(meta.AnnotationKeyExternalCreatePending, "")
		s.pass()
		if got := meta.GetExternalName(s.thing()); got != "vendor-1" || s.state() != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("external name %q, the user sees %s", got, s.state())
		}
	})
}

// A kind whose client finds what was created needs nobody.
func TestFindsCreated(t *testing.T) {
	t.Parallel()
	const window = 10 * time.Minute
	cases := map[string]struct {
		left, deleted bool
		since         time.Duration // the creation began
		calls         []string
		state         string
		name          string
	}{
		"found (N5)": {left: true, calls: []string{"Connect", "FindCreated", "Observe"},
			state: "Ready=Available Synced=ReconcileSuccess", name: "left-behind"},
		"absent, too soon to tell (N26)": {since: window - time.Second, calls: []string{"Connect", "FindCreated"}, state: "Ready= Synced=ReconcileSuccess"},
		"proven absent (N5, N26)": {since: window + time.Second, calls: []string{"Connect", "FindCreated", "Create", "Observe"},
			state: "Ready=Available Synced=ReconcileSuccess", name: "vendor-1"},
		"found in deletion (N5, R61)": {left: true, deleted: true, calls: []string{"Connect", "FindCreated", "Observe", "Delete", "Observe"}, state: "gone"},
		"absent in deletion, too soon to tell (N26, R94)": {deleted: true, since: window - time.Second, calls: []string{"Connect", "FindCreated"},
			state: "Ready= Synced=ReconcileSuccess"},
		"proven absent in deletion (N5, R59, R61)": {deleted: true, since: window + time.Second, calls: []string{"Connect", "FindCreated"}, state: "gone"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := vendorNamed(t, true, managed.WithConsistencyWindow(window))
			if tc.left {
				s.leave()
			}
			if tc.deleted {
				s.delete()
			}
			s.clock = s.clock.Add(tc.since)
			after := s.pass()
			if diff := cmp.Diff(tc.calls, s.system.TakeCalls()); diff != "" {
				t.Errorf("calls -want +got:\n%s", diff)
			}
			if got := s.state(); got != tc.state {
				t.Fatalf("the user sees %s, want %s", got, tc.state)
			}
			if tc.state == "gone" {
				if have := s.system.Snapshot(); len(have) != 0 {
					t.Errorf("resources %+v", have)
				}
				return
			}
			if after <= 0 || after > time.Minute+time.Minute/10 {
				t.Errorf("comes back after %s", after)
			}
			mg := s.thing()
			if got := meta.GetExternalName(mg); got != tc.name || meta.ExternalCreateIncomplete(mg) != (tc.name == "") {
				t.Errorf("external name %q, want %q; still incomplete: %t", got, tc.name, meta.ExternalCreateIncomplete(mg))
			}
			if n := len(s.system.Snapshot()); tc.name != "" && n != 1 {
				t.Errorf("there are %d resources", n)
			}
		})
	}
}

func TestLookupFails(t *testing.T) {
	t.Parallel()
	t.Run("a lookup that fails proves nothing and is repeated (N5, N26, R27)", func(t *testing.T) {
		t.Parallel()
		s := vendorNamed(t, true)
		s.clock = s.clock.Add(time.Hour)
		s.failOnce("FindCreated", errors.New("search is down"), nil)
		if after := s.pass(); after <= 0 || after > time.Second {
			t.Errorf("comes back after %s", after)
		}
		s.wantMessage("search is down")
		if n := s.system.Called("Create"); n != 0 {
			t.Errorf("Create was called %d times", n)
		}
		s.leave()
		s.pass()
		if got := meta.GetExternalName(s.thing()); got != "left-behind" {
			t.Errorf("external name %q", got)
		}
	})
}

// The answer to a creation is lost, the process lives or dies; either way the client finds out.
func TestHealsLostAnswers(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]bool{"in the same process (N5, R79)": false, "after a restart (N5, R79, R93)": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, managed.WithVendorNames())
			s.system.VendorNames, s.system.Finds = true, true
			s.failOnce("Create", nil, context.DeadlineExceeded)
			s.pass()
			if dies {
				s.restart(s.env.Config)
			}
			s.pass()
			if have := s.system.Snapshot(); len(have) != 1 || meta.GetExternalName(s.thing()) != "vendor-1" {
				t.Errorf("resources %+v, external name %q", have, meta.GetExternalName(s.thing()))
			}
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
				t.Errorf("the user sees %s", got)
			}
		})
	}
}

// A write that landed although its answer was lost begins no creation that anybody would have to ask about.
func TestLostAnswerOfBegin(t *testing.T) {
	t.Parallel()
	for name, finds := range map[string]bool{"cannot find (R77, R84, N5)": false, "can find (R77, N26)": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, managed.WithVendorNames())
			s.system.VendorNames, s.system.Finds = true, finds
			lost := io.ErrUnexpectedEOF
			s.restart(fault.InterceptWrites(s.env.Config, func(request string) (refuse, lose error) {
				if !strings.HasPrefix(request, http.MethodPatch) {
					return nil, nil
				}
				defer func() { lost = nil }()
				return nil, lost
			}))
			s.pass()
			if n := s.system.Called("Create"); n != 0 || !meta.ExternalCreateIncomplete(s.thing()) {
				t.Fatalf("the creation should have begun and no more, Create was called %d times", n)
			}
			s.pass()
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || len(s.system.Snapshot()) != 1 {
				t.Errorf("the user sees %s: %s", got, s.message())
			}
		})
	}
}

// A system that turns a creation away costs one write, however often it does so; one for each attempt where the time of
// the attempt counts.
func TestTurnedAwayCreation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(*thing.System)
		options []managed.ReconcilerOption
		again   int // writes of an attempt after the first
	}{
		"chosen names (N5, R80, R95)": {change: func(*thing.System) {}},
		"findable names (N5, N26, R80, R95)": {change: func(s *thing.System) { s.VendorNames, s.Finds = true, true },
			options: []managed.ReconcilerOption{managed.WithVendorNames()}, again: 1},
		"tokens (N22, R80, R95)": {change: func(s *thing.System) { s.Replays = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, tc.options...)
			tc.change(s.system)
			writes := s.countWrites()
			for i := range 3 {
				s.failOnce("Create", busy{}, nil)
				if after := s.pass(); after < 4*time.Second || after > 6*time.Second {
					t.Errorf("comes back after %s", after)
				}
				if made, told := s.take(writes); i == 0 && len(made) != 1 || i > 0 && len(made) != tc.again || told != nil {
					t.Errorf("attempt %d wrote %v, told %v", i, made, told)
				}
			}
			s.pass()
			made, told := s.take(writes)
			if diff := cmp.Diff([]event.Reason{managed.ReasonCreated}, told); diff != "" || len(s.system.Snapshot()) != 1 {
				t.Errorf("events -want +got:\n%s", diff)
			}
			if len(made) != 3+tc.again || s.system.Called("Create") != 4 {
				t.Errorf("want the secret, the success and the status written, got %v", made)
			}
		})
	}
}

// What is known of an attempt that was turned away counts for that attempt only.
func TestAfterTurnedAwayCreation(t *testing.T) {
	t.Parallel()
	t.Run("being turned away proves nothing about the next attempt (N5, N11, R84)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil, managed.WithVendorNames())
		s.system.VendorNames, s.system.Finds = true, true
		s.failOnce("Create", busy{}, nil)
		s.pass()
		s.failOnce("Create", nil, context.DeadlineExceeded)
		s.pass()
		for range 3 {
			s.pass()
		}
		if have := s.system.Snapshot(); len(have) != 1 || meta.GetExternalName(s.thing()) != "vendor-1" {
			t.Errorf("resources %+v, external name %q", have, meta.GetExternalName(s.thing()))
		}
	})
	t.Run("an attempt long after one that was turned away has a window of its own (N26)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil, managed.WithVendorNames())
		s.system.VendorNames, s.system.Finds = true, true
		s.failOnce("Create", busy{}, nil)
		s.pass()
		s.clock = s.clock.Add(time.Hour)
		s.failOnce("Create", nil, context.DeadlineExceeded)
		s.pass()
		s.system.Do(func(sys *thing.System) { sys.Hidden = true })
		for range 3 {
			s.pass()
		}
		if n := s.system.Called("Create"); n != 2 || len(s.system.Snapshot()) != 1 {
			t.Errorf("Create was called %d times, resources %+v", n, s.system.Snapshot())
		}
	})
	t.Run("after a restart nobody knows that it was turned away (N5, N26)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil, managed.WithVendorNames())
		s.system.VendorNames, s.system.Finds = true, true
		s.failOnce("Create", busy{}, nil)
		s.pass()
		s.restart(s.env.Config)
		s.pass()
		if n := s.system.Called("Create"); n != 1 {
			t.Errorf("inside the window Create was called %d times", n)
		}
		s.clock = s.clock.Add(time.Minute)
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || len(s.system.Snapshot()) != 1 {
			t.Errorf("the user sees %s: %s", got, s.message())
		}
	})
	t.Run("a kind that would need a person records the failure (R80, R84)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil, managed.WithVendorNames())
		s.system.VendorNames = true
		s.failOnce("Create", busy{}, nil)
		s.pass()
		if mg := s.thing(); meta.ExternalCreateIncomplete(mg) || meta.GetExternalCreateFailed(mg).IsZero() {
			t.Errorf("annotations %v", mg.Annotations)
		}
	})
}

// Systems that are eventually consistent do not show at once what was created.
func TestNotSeenYet(t *testing.T) {
	t.Parallel()
	hidden := func(t *testing.T) *stage {
		s := newStage(t, nil)
		s.system.Hidden = true
		s.pass()
		return s
	}
	t.Run("it is not created twice, whoever waits (R88, R89, N20)", func(t *testing.T) {
		t.Parallel()
		s := hidden(t)
		s.clock = s.clock.Add(29 * time.Second)
		for _, wait := range []func(){func() {}, func() { s.restart(s.env.Config) }} {
			wait()
			if after := s.pass(); after <= 0 || after > time.Second || s.system.Called("Create") != 1 {
				t.Errorf("comes back after %s, Create was called %d times", after, s.system.Called("Create"))
			}
		}
		s.system.Hidden = false
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s", got)
		}
	})
	t.Run("after the grace period it is created anew (R90)", func(t *testing.T) {
		t.Parallel()
		s := hidden(t)
		s.system.Do(func(sys *thing.System) { clear(sys.Resources) })
		s.clock = s.clock.Add(31 * time.Second)
		s.pass()
		if n := s.system.Called("Create"); n != 2 {
			t.Errorf("Create was called %d times", n)
		}
	})
	t.Run("what was seen needs no grace (R90, N20)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		s.system.Do(func(sys *thing.System) { clear(sys.Resources) })
		s.pass()
		if n := s.system.Called("Create"); n != 2 {
			t.Errorf("Create was called %d times", n)
		}
	})
	t.Run("its deletion waits, and then deletes it (R94, N20)", func(t *testing.T) {
		t.Parallel()
		s := hidden(t)
		s.delete()
		if after := s.pass(); after <= 0 || after > 30*time.Second || s.state() == "gone" {
			t.Fatalf("comes back after %s, the user sees %s", after, s.state())
		}
		s.system.Hidden = false
		s.pass()
		if got := s.state(); got != "gone" || len(s.system.Snapshot()) != 0 {
			t.Errorf("the user sees %s, resources %v", got, s.system.Snapshot())
		}
	})
	t.Run("after the grace period the object goes (R94)", func(t *testing.T) {
		t.Parallel()
		s := hidden(t)
		s.delete()
		s.clock = s.clock.Add(31 * time.Second)
		s.pass()
		if got := s.state(); got != "gone" {
			t.Errorf("the user sees %s", got)
		}
	})
}

// busy is the error of a system that asks for four seconds of peace.
type busy struct{}

func (busy) Error() string { return "too many calls" }

func (busy) RetryAfter() time.Duration { return 4 * time.Second }
