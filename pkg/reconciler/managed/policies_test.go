// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Every combination of policies beside what it lets the reconciler do when the external resource is missing, when the
// spec differs, when the vendor chose a setting, and when the object is deleted. This table is the manual.
func TestPolicies(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		policies                         xpv1.ManagementPolicies
		creates, updates, fills, deletes bool
	}{
		"everything (R119, R117)":               {policies: policies("*"), creates: true, updates: true, fills: true, deletes: true},
		"all actions (R119)":                    {policies: policies("Create", "Delete", "LateInitialize", "Observe", "Update"), creates: true, updates: true, fills: true, deletes: true},
		"the star beside others (R117)":         {policies: policies("Observe", "*", "Observe"), creates: true, updates: true, fills: true, deletes: true},
		"never updated (R120, R129, R114)":      {policies: policies("Create", "Delete", "LateInitialize", "Observe"), creates: true, fills: true, deletes: true},
		"never filled (R121, R129, R112, R152)": {policies: policies("Create", "Delete", "Observe", "Update"), creates: true, updates: true, deletes: true},
		"made and removed (R122, R130, R112)":   {policies: policies("Create", "Delete", "Observe"), creates: true, deletes: true},
		"kept (R123, R111, R57)":                {policies: policies("Create", "LateInitialize", "Observe", "Update"), creates: true, updates: true, fills: true},
		"kept, never updated (R124)":            {policies: policies("Create", "LateInitialize", "Observe"), creates: true, fills: true},
		"kept, never filled (R125)":             {policies: policies("Create", "Observe", "Update"), creates: true, updates: true},
		"only made (R126, R110)":                {policies: policies("Create", "Observe"), creates: true},
		"only looked at (R127, R113, R110)":     {policies: policies("Observe")},
		"only updated (R133, R110)":             {policies: policies("Observe", "Update"), updates: true},
		"only removed (R133, R111)":             {policies: policies("Observe", "Delete"), deletes: true},
		"only filled (R133, R112)":              {policies: policies("Observe", "LateInitialize"), fills: true},
		"imported, and its own master (R133)":   {policies: policies("Delete", "LateInitialize", "Observe", "Update"), updates: true, fills: true, deletes: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) { mg.Spec.ManagementPolicies = tc.policies })
			for range 2 { // R90 R122 once more if deleted outside
				s.system.Do(func(sys *thing.System) { clear(sys.Resources) })
				s.system.TakeCalls()
				s.pass()
				if created := s.system.Called("Create") == 1; created != tc.creates {
					t.Fatalf("missing: created %t, want %t", created, tc.creates)
				}
			}
			s.give(thing.Resource{Size: 1, Zone: "zone-a"})
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
			s.pass()
			if updated := s.has().Size == 2; updated != tc.updates || (s.system.Called("Update") > 0) != tc.updates {
				t.Errorf("spec differs: updated %t, want %t", updated, tc.updates)
			}
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
				t.Errorf("what the policies forbid is no error, the user sees %s: %s (R135)", got, s.message())
			}
			if filled := s.thing().Spec.ForProvider.Zone != nil; filled != tc.fills {
				t.Errorf("the vendor chose a zone: filled in %t, want %t", filled, tc.fills)
			}
			s.delete()
			s.pass()
			if kept := len(s.system.Snapshot()) == 1; kept == tc.deletes || s.state() != "gone" {
				t.Errorf("object deleted: resource kept %t, want %t; the user sees %s", kept, !tc.deletes, s.state())
			}
		})
	}
}

// policies returns a list that is present, even if it is empty.
func policies(actions ...xpv1.ManagementAction) xpv1.ManagementPolicies {
	return append(xpv1.ManagementPolicies{}, actions...)
}

// What pauses, and how to end it.
var pauses = map[string]struct{ pause, resume func(*thing.Thing) }{
	"annotation": {
		pause: func(mg *thing.Thing) {
			metav1.SetMetaDataAnnotation(&mg.ObjectMeta, meta.AnnotationKeyReconciliationPaused, "true")
		},
		resume: func(mg *thing.Thing) { delete(mg.Annotations, meta.AnnotationKeyReconciliationPaused) },
	},
	"empty policies": {
		pause:  func(mg *thing.Thing) { mg.Spec.ManagementPolicies = policies() },
		resume: func(mg *thing.Thing) { mg.Spec.ManagementPolicies = policies("*") },
	},
}

// Both ways to pause do the same.
func TestPauses(t *testing.T) {
	t.Parallel()
	for name, by := range pauses {
		t.Run("by "+name+" (R58, R96, R100, R101, R102, R103, R104, R105, R107, R128, R186, N9)", func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			writes := s.countWrites()
			s.pass()
			before := s.thing().Status
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2; by.pause(mg) })
			s.take(writes)
			s.system.TakeCalls()

			s.wantQuiet(writes, "paused", 1, managed.ReasonPaused)
			after := s.thing().Status
			if got := after.GetCondition(xpv1.TypeSynced); got.Status != "False" || got.Reason != xpv1.ReasonReconcilePaused {
				t.Errorf("condition Synced is %s %s", got.Status, got.Reason)
			}
			after.SetConditions(before.GetCondition(xpv1.TypeSynced))
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the rest of the status should stay -want +got:\n%s", diff)
			}
			s.delete()
			s.wantQuiet(writes, "paused and deleted", 1, managed.ReasonPaused)
			s.wantMessage("Deletion is paused", "orphan-on-delete")
			if len(s.system.Snapshot()) != 1 || s.has().Size != 1 {
				t.Errorf("the resource is now %+v", s.system.Snapshot())
			}
			s.edit(by.resume)
			s.pass()
			if got := s.state(); got != "gone" || len(s.system.Snapshot()) != 0 {
				t.Errorf("resumed, the user sees %s, resources %v", got, s.system.Snapshot())
			}
		})
	}
}

func TestPauseValues(t *testing.T) {
	t.Parallel()
	for value, paused := range map[string]bool{"true": true, "True": false, "1": false, "false": false, " true": false, "": false} {
		t.Run(fmt.Sprintf("%q (R97)", value), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				mg.Annotations = map[string]string{"crossplane.io/paused": value}
			})
			s.pass()
			if got := s.state() == "Ready= Synced=ReconcilePaused"; got != paused {
				t.Errorf("paused %t, want %t", got, paused)
			}
		})
	}
}

// wantQuiet makes three passes, of which the first may write and tell something, and none may call anything.
func (s *stage) wantQuiet(writes *[]string, when string, most int, want ...event.Reason) {
	s.t.Helper()
	for i := range 3 {
		after := s.pass()
		s.clock = s.clock.Add(time.Hour)
		made, told := s.take(writes)
		if calls := s.system.TakeCalls(); calls != nil || after != 0 {
			s.t.Errorf("%s: pass %d called %v and comes back after %s", when, i, calls, after)
		}
		if len(made) > most {
			s.t.Errorf("%s: pass %d wrote %v", when, i, made)
		}
		if diff := cmp.Diff(want, told); diff != "" {
			s.t.Errorf("%s: pass %d: events -want +got:\n%s", when, i, diff)
		}
		most, want = 0, nil
	}
}

// The schema would make an absent list of policies "everything"; the user's empty one must survive what we write.
func TestEmptyPoliciesStayEmpty(t *testing.T) {
	t.Parallel()
	t.Run("our own writes keep an empty list (R106, R128, N31)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) {
			mg.Spec.ManagementPolicies = policies()
			mg.Annotations = map[string]string{meta.AnnotationKeyOrphanOnDelete: "true"}
			mg.Finalizers = []string{managed.Finalizer, "test.bowline.dev/hold"}
		})
		s.pass()
		s.delete()
		s.pass()
		if mg := s.thing(); !mg.Spec.ManagementPolicies.Empty() || len(mg.Finalizers) != 1 {
			t.Errorf("policies %q, finalizers %q", mg.Spec.ManagementPolicies, mg.Finalizers)
		}
	})
}

func TestPolicySchema(t *testing.T) {
	t.Parallel()
	t.Run("the default is everything (R108, R109)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		if diff := cmp.Diff(policies("*"), s.thing().Spec.ManagementPolicies); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("an unknown action is rejected (R116)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		mg := s.thing()
		mg.Spec.ManagementPolicies = policies("Observe", "Destroy")
		if err := s.env.Client.Update(t.Context(), mg); !apierrors.IsInvalid(err) {
			t.Errorf("got %v", err)
		}
	})
}

// Policies that cannot be followed, whether the object is deleted or not.
func TestRefusedPolicies(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		policies xpv1.ManagementPolicies
		options  []managed.ReconcilerOption
		message  string
	}{
		"nothing works without Observe (R134)": {policies: policies("Create", "Update", "Delete", "LateInitialize"), message: "lack Observe"},
		"not even deletion (R134, R111)":       {policies: policies("Delete"), message: "lack Observe"},
		"the provider has none (R115)": {policies: policies("Observe", "Create", "Delete"), message: "not supported by this provider",
			options: []managed.ReconcilerOption{managed.WithManagementPolicies(false)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				mg.Spec.ManagementPolicies = tc.policies
				mg.Finalizers = []string{managed.Finalizer}
			}, tc.options...)
			writes := s.countWrites()
			for _, most := range []int{1, 0, 1, 0} {
				s.pass()
				if made, _ := s.take(writes); len(made) > most {
					t.Errorf("wrote %v", made)
				}
				s.wantMessage(tc.message)
				if most == 0 && !meta.WasDeleted(s.thing()) {
					s.delete()
				}
			}
			if calls := s.system.TakeCalls(); calls != nil || s.state() != "Ready= Synced=ReconcileError" {
				t.Errorf("called %v, the user sees %s", calls, s.state())
			}
		})
	}
	t.Run("the default is always supported (R115)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil, managed.WithManagementPolicies(false))
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s", got)
		}
	})
}

func TestMissingAndNotToBeCreated(t *testing.T) {
	t.Parallel()
	t.Run("it says what is missing and what to do (R132, R110)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) { mg.Spec.ManagementPolicies = policies("Observe") })
		writes := s.countWrites()
		s.pass()
		s.wantMessage(fmt.Sprintf("%q does not exist", s.key.Name), meta.AnnotationKeyExternalName, "add Create")
		if got := s.state(); got != "Ready=Unavailable Synced=ReconcileError" || s.system.Called("Create") != 0 {
			t.Errorf("the user sees %s", got)
		}
		s.take(writes)
		if after := s.pass(); after < 54*time.Second || len(*writes) != 0 {
			t.Errorf("the next poll wrote %v and comes back after %s (N13)", *writes, after)
		}
	})
}

// Looking is enough to show what is there, whatever else is forbidden.
func TestRefresh(t *testing.T) {
	t.Parallel()
	for _, allowed := range []xpv1.ManagementPolicies{
		policies("Observe"), policies("Observe", "Create"), policies("Observe", "Delete"), policies("Observe", "Update"),
		policies("Observe", "LateInitialize"), policies("Observe", "Create", "Delete"), policies("*"),
	} {
		t.Run(fmt.Sprintf("with %v (R131, R30, R43, R113)", allowed), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) { mg.Spec.ManagementPolicies = allowed })
			s.give(thing.Resource{Size: 1, Zone: "zone-a"})
			s.pass()
			s.give(thing.Resource{Size: 1, Zone: "zone-a", Tags: map[string]string{"seen": "later"}})
			s.system.Do(func(sys *thing.System) { sys.Endpoint = "elsewhere"; sys.Failed = errors.New("out of order") })
			s.pass()
			mg := s.thing()
			if got := mg.Status.AtProvider.Tags["seen"]; got != "later" {
				t.Errorf("atProvider holds %+v", mg.Status.AtProvider)
			}
			if got := s.connection()["endpoint"]; got != "elsewhere" {
				t.Errorf("the secret holds endpoint %q", got)
			}
			s.wantMessage("out of order")
		})
	}
}

func TestChangedPolicies(t *testing.T) {
	t.Parallel()
	t.Run("what was only looked at is enforced from the next pass (R136, R70, N24)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) {
			mg.Spec.ManagementPolicies = policies("Observe")
			mg.Annotations = map[string]string{meta.AnnotationKeyExternalName: mg.Name}
		})
		s.system.Resources[s.key.Name] = thing.Resource{Size: 7}
		s.pass()
		if got := s.has().Size; got != 7 {
			t.Fatalf("looking changed the size to %d", got)
		}
		s.edit(func(mg *thing.Thing) { mg.Spec.ManagementPolicies = policies("*") })
		s.pass()
		if have := s.has(); have.Size != 1 || have.Owner != s.thing().UID {
			t.Errorf("the resource is now %+v", have)
		}
	})
}

// Every policy that is present has a say in whether the external resource is deleted.
func TestDeletionNeedsAllPolicies(t *testing.T) {
	t.Parallel()
	for _, management := range []xpv1.ManagementPolicies{policies("*"), policies("Observe", "Delete"), policies("Observe", "Create", "Update")} {
		for _, deletion := range []xpv1.DeletionPolicy{"", xpv1.DeletionDelete, xpv1.DeletionOrphan} {
			for _, reclaim := range []xpv1.ReclaimPolicy{"", xpv1.ReclaimDelete, xpv1.ReclaimRetain} {
				t.Run(fmt.Sprintf("%v, deletionPolicy %s, reclaimPolicy %s (N3, R56, R57, R111)", management, deletion, reclaim), func(t *testing.T) {
					t.Parallel()
					s := newStage(t, func(mg *thing.Thing) {
						mg.Finalizers = []string{managed.Finalizer}
						mg.Spec.ManagementPolicies, mg.Spec.DeletionPolicy, mg.Spec.ReclaimPolicy = management, deletion, reclaim
					})
					s.give(thing.Resource{Size: 1})
					s.delete()
					s.pass()
					deleted := management.Allow(xpv1.ManagementActionDelete) && deletion != xpv1.DeletionOrphan && reclaim != xpv1.ReclaimRetain
					if got := len(s.system.Snapshot()) == 0; got != deleted || s.state() != "gone" {
						t.Errorf("deleted %t, want %t; the user sees %s", got, deleted, s.state())
					}
					if calls := s.system.TakeCalls(); !deleted && calls != nil {
						t.Errorf("a resource that stays is not even looked at, got %v", calls)
					}
				})
			}
		}
	}
}

// A person may let an object go whose deletion waits for a person; a healthy one's does not.
func TestOrphanOnDelete(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change  func(*thing.Thing)
		options []managed.ReconcilerOption
		kept    bool
	}{
		"paused (N31)":                   {change: pauses["annotation"].pause, kept: true},
		"paused by empty policies (N31)": {change: pauses["empty policies"].pause, kept: true},
		"a suspected leak (N31, R84)": {kept: true, options: []managed.ReconcilerOption{managed.WithVendorNames()}, change: func(mg *thing.Thing) {
			mg.Annotations = map[string]string{meta.AnnotationKeyExternalCreatePending: pending}
		}},
		"healthy (N31, R56)": {change: func(*thing.Thing) {}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				mg.Finalizers = []string{managed.Finalizer}
				tc.change(mg)
			}, tc.options...)
			s.give(thing.Resource{Size: 1})
			s.annotate(meta.AnnotationKeyOrphanOnDelete, "true")
			s.pass()
			if s.state() == "gone" {
				t.Fatal("nobody deleted it")
			}
			s.system.TakeCalls()
			s.delete()
			s.pass()
			if kept := len(s.system.Snapshot()) == 1; kept != tc.kept || s.state() != "gone" || s.system.Called("Delete") == 0 != kept {
				t.Errorf("kept %t, want %t; the user sees %s, calls %v", kept, tc.kept, s.state(), s.system.TakeCalls())
			}
		})
	}
}
