// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Whatever the state of an object, a plan returns what a pass would do, and does nothing.
func TestPlan(t *testing.T) {
	plan := func(check func(s *stage, plan managed.Plan, err error) bool) act {
		return func(s *stage) {
			before, outside, given := s.thing(), s.system.Snapshot(), s.thing()
			forget(s)
			plan, err := s.reconciler.Plan(s.t.Context(), given)
			if !check(s, plan, err) {
				s.t.Errorf("plan %+v, error %v", plan, err)
			}
			if calls := s.system.TakeCalls(); slices.ContainsFunc(calls, func(c string) bool { return c != "Connect" && c != "Observe" }) {
				s.t.Errorf("it called %v", calls)
			}
			s.equal("external resources", outside, s.system.Snapshot())
			s.equal("object", before, s.thing())
			s.equal("given object", before, given)
			s.play(wrote(0), emitted())
		}
	}
	plans := func(action managed.PlannedAction, message string, fields ...string) act {
		return plan(func(_ *stage, plan managed.Plan, err error) bool {
			missing := slices.DeleteFunc(slices.Clone(fields), func(field string) bool {
				return slices.ContainsFunc(plan.Fields, func(d xpv1.FieldDifference) bool { return d.Path == field })
			})
			return err == nil && plan.Action == action && strings.Contains(plan.Message, message) && len(missing) == 0
		})
	}
	playBoth(t, scripts{
		"a new object (N8)":          {plans(managed.PlanCreate, "", "size")},
		"nothing changed (N8)":       {pass, plans(managed.PlanNothing, "")},
		"a changed object (N8, P80)": {pass, size(2), plans(managed.PlanUpdate, "", "size")},
		"a changed object that must not be updated (N8, R114)": {pass, size(2), allow("Observe"),
			plans(managed.PlanNothing, "do not let it be updated")},
		"a missing resource that must not be created (N8, R132)": {allow("Observe"), plans(managed.PlanNothing, "does not exist")},
		"a lost resource that held data (N8, N38)": {holdsData, pass, later(time.Minute), wiped,
			plan(func(_ *stage, _ managed.Plan, err error) bool {
				return err != nil && failure.Of(err).Reason == failure.ExternalResourceLost
			}), permittedByUID, plans(managed.PlanCreate, "", "size")},
		"a Secret that was changed (N8, P61)": {password("first"), pass, plans(managed.PlanNothing, ""), rotate("second"),
			plan(func(_ *stage, plan managed.Plan, err error) bool {
				want := []xpv1.FieldDifference{{Path: "passwordSecretRef", Desired: "(sensitive)", Observed: "(sensitive)"}}
				return err == nil && plan.Action == managed.PlanUpdate && cmp.Equal(plan.Fields, want)
			})},
		"a Secret that an object which only observes does not give (N8, R114)": {size(1), pass, password("first"), allow("Observe"),
			plan(func(_ *stage, plan managed.Plan, err error) bool {
				return err == nil && cmp.Equal(plan, managed.Plan{Action: managed.PlanNothing})
			})},
		"a deleted object (N8)": {pass, deleted, plans(managed.PlanDelete, "")},
		"a deleted object that leaves its resource (N8, R57)": {pass,
			edit(func(mg *thing.Thing) { mg.Spec.DeletionPolicy = xpv1.DeletionOrphan }),
			deleted, plans(managed.PlanNothing, "leave the external resource")},
		"a deleted object that another finalizer holds (N8, N37)": {pass, finalizers("example.org/hold"), deleted,
			plans(managed.PlanNothing, "example.org/hold")},
		"a deleted object whose external resource is orphaned (N8, N31)": {pass, annotate(meta.AnnotationKeyOrphanOnDelete, "true"),
			deleted, plans(managed.PlanNothing, "leave the external resource")},
		"a paused object (N8, R96)": {annotate(meta.AnnotationKeyReconciliationPaused, "true"), plans(managed.PlanNothing, "Paused")},
		"a resource of another owner (N8, N24)": {alter(func(r *thing.Resource) { r.Size, r.Owner = 1, "another" }),
			plan(func(_ *stage, _ managed.Plan, err error) bool {
				return err != nil && strings.Contains(err.Error(), "belongs to another object")
			})},
	})
}

// A plan reports what no update settles, and sets none of it.
func TestPlanOfWhatCannotChange(t *testing.T) {
	const fails = "the external resource is not as it should be: "
	size := xpv1.FieldDifference{Path: "size", Desired: "2", Observed: "1"}
	zone := xpv1.FieldDifference{Path: "zone", Desired: `"a"`, Observed: `"b"`}
	cannot := errors.New("zone differs and cannot change")
	plans := func(found managed.ExternalObservation, want managed.Plan) []act {
		found.ResourceExists = true
		return []act{pass, observed(func(_ *thing.Thing, o *observation) { *o = found }), func(s *stage) {
			plan, err := s.reconciler.Plan(s.t.Context(), s.thing())
			if diff := cmp.Diff(want, plan); diff != "" || err != nil {
				s.t.Errorf("error %v, plan -want +got:\n%s", err, diff)
			}
		}}
	}
	play(t, scripts{
		"only what cannot change differs (N8, P70)": plans(
			managed.ExternalObservation{ResourceUpToDate: true, Drift: []xpv1.FieldDifference{zone}, Fixed: []string{"zone"},
				Failed: cannot},
			managed.Plan{Action: managed.PlanNothing, Unsettled: true, Message: fails + "zone differs and cannot change"}),
		"and without a reason (N8, P70)": plans(
			managed.ExternalObservation{ResourceUpToDate: true, Drift: []xpv1.FieldDifference{zone}},
			managed.Plan{Action: managed.PlanNothing, Unsettled: true,
				Message: "The external resource differs from spec.forProvider in zone: see status.drift."}),
		"other fields differ, too (N8, P70)": plans(
			managed.ExternalObservation{Drift: []xpv1.FieldDifference{size, zone}, Fixed: []string{"zone"}, Failed: cannot},
			managed.Plan{Action: managed.PlanUpdate, Fields: []xpv1.FieldDifference{size},
				Unsettled: true, Message: fails + "zone differs and cannot change"}),
		"a permitted replacement (N8, N97)": plans(
			managed.ExternalObservation{Drift: []xpv1.FieldDifference{zone}, Replacing: true},
			managed.Plan{Action: managed.PlanReplace, Fields: []xpv1.FieldDifference{zone}}),
		"a resource that failed (N8, R31)": plans(
			managed.ExternalObservation{ResourceUpToDate: true, Failed: errors.New("out of disk")},
			managed.Plan{Action: managed.PlanNothing, Unsettled: true, Message: fails + "out of disk"}),
	})
}

// Only passes decide for which dependents a deletion waits.
func TestPlanRegistersNothing(t *testing.T) {
	planned := func(stored, planned bool, want string) []act {
		refers := func(s *stage, does bool) func(*thing.Thing) {
			if does {
				return refersTo(s.key.Name)
			}
			return func(mg *thing.Thing) { mg.Spec.ForProvider.NeighbourRef = nil }
		}
		return []act{pass, func(s *stage) {
			key := s.neighbour("dependent", refers(s, stored))
			s.passOver(key)
			mg := &thing.Thing{}
			s.must(s.env.Client.Get(s.t.Context(), key, mg))
			refers(s, planned)(mg)
			_, err := s.reconciler.Plan(s.t.Context(), mg)
			s.must(err)
			s.remove(key)
		}, deleted, pass, holds(want, func(s *stage) bool { return (s.state() == gone) == (want == gone) })}
	}
	play(t, scripts{
		"a reference that is planned (N8, N32)":       planned(false, true, gone),
		"a plan without one that is stored (N8, N32)": planned(true, false, "it waits"),
	})
}
