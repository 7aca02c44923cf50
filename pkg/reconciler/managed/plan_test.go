// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// planCases are states of an object, and what a pass would do.
var planCases = map[string]struct {
	prepare func(*stage)
	want    managed.PlannedAction
	fields  []string
	message string
	fails   string
}{
	"a new object (N8)": {
		prepare: func(*stage) {}, want: managed.PlanCreate, fields: []string{"size"},
	},
	"nothing changed (N8)": {
		prepare: func(s *stage) { s.pass() }, want: managed.PlanNothing,
	},
	"a changed object (N8, P80)": {
		prepare: func(s *stage) {
			s.pass()
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
		},
		want: managed.PlanUpdate,
	},
	"a changed object that must not be updated (N8, R114)": {
		prepare: func(s *stage) {
			s.pass()
			s.edit(func(mg *thing.Thing) {
				mg.Spec.ForProvider.Size = 2
				mg.Spec.ManagementPolicies = xpv1.ManagementPolicies{"Observe"}
			})
		},
		want: managed.PlanNothing, message: "do not let it be updated",
	},
	"a missing resource that must not be created (N8, R132)": {
		prepare: func(s *stage) {
			s.edit(func(mg *thing.Thing) { mg.Spec.ManagementPolicies = xpv1.ManagementPolicies{"Observe"} })
		},
		want: managed.PlanNothing, message: "does not exist",
	},
	"a deleted object (N8)": {
		prepare: func(s *stage) { s.pass(); s.delete() }, want: managed.PlanDelete,
	},
	"a deleted object that leaves its resource (N8, R57)": {
		prepare: func(s *stage) {
			s.pass()
			s.edit(func(mg *thing.Thing) { mg.Spec.DeletionPolicy = xpv1.DeletionOrphan })
			s.delete()
		},
		want: managed.PlanNothing, message: "leave the external resource",
	},
	"a paused object (N8, R96)": {
		prepare: func(s *stage) { s.annotate(meta.AnnotationKeyReconciliationPaused, "true") },
		want:    managed.PlanNothing, message: "Paused",
	},
	"somebody else's resource (N8, N24)": {
		prepare: func(s *stage) {
			s.system.Resources[s.key.Name] = thing.Resource{Size: 1, Owner: "another"}
		},
		fails: "belongs to another object",
	},
}

// A plan says what no update settles, and sets none of it.
func TestPlanOfWhatCannotChange(t *testing.T) {
	t.Parallel()
	const fails = "the external resource is not as it should be: "
	size := xpv1.FieldDifference{Path: "size", Desired: "2", Observed: "1"}
	zone := xpv1.FieldDifference{Path: "zone", Desired: `"a"`, Observed: `"b"`}
	cannot := errors.New("zone differs and cannot change")
	for name, tc := range map[string]struct {
		observed managed.ExternalObservation
		want     managed.Plan
	}{
		"only what cannot change differs (N8, P70)": {
			observed: managed.ExternalObservation{
				ResourceUpToDate: true, Drift: []xpv1.FieldDifference{zone}, Fixed: []string{"zone"}, Failed: cannot},
			want: managed.Plan{Action: managed.PlanNothing, Message: fails + "zone differs and cannot change"},
		},
		"and nobody says why (N8, P70)": {
			observed: managed.ExternalObservation{ResourceUpToDate: true, Drift: []xpv1.FieldDifference{zone}},
			want: managed.Plan{Action: managed.PlanNothing,
				Message: "The external resource differs from spec.forProvider in zone: see status.drift."},
		},
		"other fields differ, too (N8, P70)": {
			observed: managed.ExternalObservation{Drift: []xpv1.FieldDifference{size, zone}, Fixed: []string{"zone"}, Failed: cannot},
			want: managed.Plan{Action: managed.PlanUpdate, Fields: []xpv1.FieldDifference{size},
				Message: fails + "zone differs and cannot change"},
		},
		"a resource that failed (N8, R31)": {
			observed: managed.ExternalObservation{ResourceUpToDate: true, Failed: errors.New("out of disk")},
			want:     managed.Plan{Action: managed.PlanNothing, Message: fails + "out of disk"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.pass()
			s.alter(func(_ *thing.Thing, o *managed.ExternalObservation) {
				*o = tc.observed
				o.ResourceExists = true
			})
			plan, err := s.reconciler.Plan(t.Context(), s.thing())
			if diff := cmp.Diff(tc.want, plan); diff != "" || err != nil {
				t.Errorf("error %v, plan -want +got:\n%s", err, diff)
			}
		})
	}
}

// Whatever the state of an object, a plan says what a pass would do, and does nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, tc := range planCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			tc.prepare(s)
			before, outside := s.thing(), s.system.Snapshot()
			s.system.TakeCalls()
			given := s.thing()
			plan, err := s.reconciler.Plan(t.Context(), given)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("error %v, want %q", err, tc.fails)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if plan.Action != tc.want || !strings.Contains(plan.Message, tc.message) {
				t.Errorf("plan %+v", plan)
			}
			var fields []string
			for _, f := range plan.Fields {
				fields = append(fields, f.Path)
			}
			for _, want := range tc.fields {
				if !strings.Contains(strings.Join(fields, " "), want) {
					t.Errorf("fields %v, want %s among them", fields, want)
				}
			}
			for _, call := range s.system.TakeCalls() {
				if call != "Connect" && call != "Observe" {
					t.Errorf("a plan calls %s", call)
				}
			}
			if diff := cmp.Diff(outside, s.system.Snapshot()); diff != "" {
				t.Errorf("a plan changes the external system:\n%s", diff)
			}
			if after := s.thing(); after.ResourceVersion != before.ResourceVersion || len(s.events.Take()) != 0 && tc.want == managed.PlanCreate {
				t.Error("a plan writes to the API server")
			}
			if diff := cmp.Diff(before, given); diff != "" {
				t.Errorf("a plan changes what it is given:\n%s", diff)
			}
		})
	}
}

// What a plan resolves is nobody's reference: only passes decide for whom a deletion waits.
func TestPlanRegistersNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ stored, planned, waits bool }{
		"a reference that is planned (N8, N32)":       {planned: true},
		"a plan without one that is stored (N8, N32)": {stored: true, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.pass()
			refers := func(does bool) func(*thing.Thing) {
				if does {
					return refersTo(s.key.Name)
				}
				return func(mg *thing.Thing) { mg.Spec.ForProvider.NeighbourRef = nil }
			}
			key := s.neighbour("dependent", refers(tc.stored))
			s.passOver(key)
			planned := &thing.Thing{}
			if err := s.env.Client.Get(t.Context(), key, planned); err != nil {
				t.Fatal(err)
			}
			refers(tc.planned)(planned)
			if _, err := s.reconciler.Plan(t.Context(), planned); err != nil {
				t.Fatal(err)
			}
			s.remove(key)
			s.delete()
			s.pass()
			if waits := s.state() != "gone"; waits != tc.waits {
				t.Errorf("the deletion waits %t, want %t", waits, tc.waits)
			}
		})
	}
}
