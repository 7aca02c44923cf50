// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// inSync is what a user sees of drift.
func (s *stage) inSync() string {
	s.t.Helper()
	mg := s.thing()
	c := mg.GetCondition(xpv1.TypeInSync)
	paths := make([]string, 0, len(mg.Status.Drift))
	for _, d := range mg.Status.Drift {
		paths = append(paths, fmt.Sprintf("%s %s->%s", d.Path, d.Observed, d.Desired))
	}
	return fmt.Sprintf("%s %s %s", c.Status, c.Reason, paths)
}

const settled = "True AsDeclared []"

// resize changes the resource outside.
func (s *stage) resize(to int) {
	s.system.Do(func(sys *thing.System) {
		have := sys.Resources[s.key.Name]
		have.Size = to
		sys.Resources[s.key.Name] = have
	})
}

// A difference that nobody may settle is told once, and until it is gone.
func TestDriftWithoutUpdate(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(mg *thing.Thing) { mg.Spec.ManagementPolicies = policies("Create", "Observe", "Delete") })
	writes := s.countWrites()
	s.pass()
	if got := s.inSync(); got != settled {
		t.Fatalf("to begin with the user sees %s", got)
	}
	for _, m := range []struct {
		name   string
		act    func()
		want   string
		told   []event.Reason
		writes int
	}{
		{"it shows with both values (N8, P80, P81)", func() { s.resize(9) }, "False Drifted [size 9->1]", []event.Reason{managed.ReasonDrifted}, 1},
		{"it is no news at the next poll (N8, N13)", func() {}, "False Drifted [size 9->1]", nil, 0},
		{"nor after a restart (N8, N13)", func() { writes = s.countWrites() }, "False Drifted [size 9->1]", nil, 0},
		{"another value shows, without an event (N8)", func() { s.resize(8) }, "False Drifted [size 8->1]", nil, 1},
		{"a changed spec is a difference (R135, P81)", func() { s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Zone = new("zone-b") }) },
			"False Drifted [size 8->1 zone null->\"zone-b\"]", []event.Reason{managed.ReasonDrifted}, 1},
		{"it is gone once settled (P81)", func() {
			s.resize(1)
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Zone = nil })
		}, settled, nil, 1},
	} {
		t.Run(m.name, func(t *testing.T) {
			m.act()
			s.take(writes)
			s.pass()
			made, told := s.take(writes)
			if got := s.inSync(); got != m.want {
				t.Errorf("the user sees %s, want %s", got, m.want)
			}
			if diff := cmp.Diff(m.told, told); diff != "" || len(made) != m.writes {
				t.Errorf("wrote %v, want %d; events -want +got:\n%s", made, m.writes, diff)
			}
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || s.system.Called("Update") != 0 {
				t.Errorf("drift is no error, the user sees %s (R135)", got)
			}
		})
	}
}

// Some settings cannot be changed, and some systems do not say so.
func TestUpdatesThatNeverSettle(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.system.Stubborn = true
	writes := s.countWrites()
	s.pass()
	s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
	s.take(writes)
	var told []event.Reason
	t.Run("it shows after the second update (N8, P81)", func(t *testing.T) {
		for range 2 {
			if got := s.inSync(); got != settled {
				t.Errorf("too soon the user sees %s", got)
			}
			s.pass()
			_, now := s.take(writes)
			told = append(told, now...)
		}
		if got := s.inSync(); got != "False Drifted [size 1->2]" {
			t.Errorf("the user sees %s", got)
		}
		if diff := cmp.Diff([]event.Reason{managed.ReasonUpdated, managed.ReasonUpdated, managed.ReasonDrifted}, told); diff != "" {
			t.Errorf("events -want +got:\n%s", diff)
		}
	})
	for name, act := range map[string]func(){
		"from then on nothing is written or told (N13, R205, N8)": func() {},
		"nor after a restart (N13, R205)":                         func() { writes = s.countWrites() },
	} {
		t.Run(name, func(t *testing.T) {
			act()
			for range 3 {
				s.system.TakeCalls()
				s.pass()
				if made, told := s.take(writes); len(made)+len(told) != 0 {
					t.Errorf("wrote %v, told %v", made, told)
				}
				if n := s.system.Called("Update"); n != 1 {
					t.Errorf("Update was called %d times (R24)", n)
				}
			}
		})
	}
	t.Run("a user's change is news once (R204, R205)", func(t *testing.T) {
		s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 5 })
		for _, want := range [][]event.Reason{{managed.ReasonUpdated}, nil} {
			s.pass()
			if _, told := s.take(writes); !cmp.Equal(told, want) {
				t.Errorf("events %v, want %v", told, want)
			}
		}
	})
	t.Run("it is gone once an update settles it (P81)", func(t *testing.T) {
		s.system.Stubborn = false
		s.pass()
		if got := s.inSync(); got != settled {
			t.Errorf("the user sees %s", got)
		}
	})
	t.Run("a later update is news again (R204)", func(t *testing.T) {
		s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 3 })
		s.take(writes)
		s.pass()
		if _, told := s.take(writes); !cmp.Equal(told, []event.Reason{managed.ReasonUpdated}) {
			t.Errorf("events %v", told)
		}
	})
}

func TestFailedUpdatesDoNotCount(t *testing.T) {
	t.Parallel()
	t.Run("an update that failed is none that does not settle (N8, P81)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		s.system.Stubborn = true
		s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
		for range 3 {
			s.failOnce("Update", errors.New("not now"), nil)
			s.pass()
		}
		s.pass()
		if got := s.inSync(); got != settled {
			t.Errorf("after one update the user sees %s", got)
		}
	})
}

// Values of secrets are nobody's business, wherever they would show.
func TestSecretsDoNotShow(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]xpv1.ManagementPolicies{
		"in drift that may not be settled (R234, N8)": policies("Observe", "Create"),
		"in drift that no update settles (R234, N8)":  policies("*"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				mg.Spec.ManagementPolicies = allowed
				mg.Spec.ForProvider.AccessToken = new("swordfish-new")
			})
			s.give(thing.Resource{Size: 1, AccessToken: "swordfish-old"})
			s.system.Stubborn = true
			for range 3 {
				s.pass()
			}
			mg := s.thing()
			if len(mg.Status.Drift) != 1 || mg.Status.Drift[0].Path != "accessToken" {
				t.Fatalf("drift %+v", mg.Status.Drift)
			}
			shown, err := json.Marshal([]any{mg.Status.Drift, mg.Status.Conditions, s.events.All()})
			if err != nil || strings.Contains(string(shown), "swordfish") {
				t.Errorf("shown: %s, %v", shown, err)
			}
		})
	}
}

// A client that cannot say where the difference is says what it can.
func TestCoarseDrift(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ diff, want string }{
		"with a text (P80, P81)": {diff: "size too small", want: "The external resource differs from spec.forProvider: size too small"},
		"without (P80, P81)":     {want: "The external resource differs from spec.forProvider."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) { mg.Spec.ManagementPolicies = policies("Observe") })
			s.alter(func(_ *thing.Thing, o *managed.ExternalObservation) { o.Drift, o.Diff = nil, tc.diff })
			s.give(thing.Resource{Size: 5})
			s.pass()
			if got := s.thing().GetCondition(xpv1.TypeInSync); got.Reason != xpv1.ReasonDrifted || got.Message != tc.want {
				t.Errorf("condition InSync: %s: %s", got.Reason, got.Message)
			}
		})
	}
}

// A difference in a field that cannot change is one, though there is nothing to update.
func TestDriftThatNoUpdateSettles(t *testing.T) {
	t.Parallel()
	t.Run("in a field that cannot change (N8, P81)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		drift := []xpv1.FieldDifference{{Path: "region", Desired: `"a"`, Observed: `"b"`}}
		s.alter(func(_ *thing.Thing, o *managed.ExternalObservation) {
			if o.ResourceExists {
				o.ResourceUpToDate, o.Drift, o.Failed = true, drift, errors.New("region cannot change")
			}
		})
		s.pass()
		mg := s.thing()
		if got := mg.GetCondition(xpv1.TypeInSync); got.Status != "False" || len(s.system.Sent["Update"]) > 0 {
			t.Errorf("InSync is %s, updates %v", got.Status, s.system.Sent["Update"])
		}
		if diff := cmp.Diff(drift, mg.Status.Drift); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
