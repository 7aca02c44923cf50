// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

const pending = "2026-01-01T00:00:00Z"

func TestOwnership(t *testing.T) {
	t.Parallel()
	somebody := types.UID("somebody")
	cases := map[string]struct {
		reason     string
		unlabelled bool
		owner      func(*thing.Thing) types.UID
		annotated  map[string]string
		finalizer  bool
		adopted    bool
	}{
		"unknown owner (N24)":            {reason: "A defaulted name must not take over what exists.", unlabelled: true},
		"nobody's (R35, N6, N24)":        {reason: "A resource without owner label was made by hand.", owner: func(*thing.Thing) types.UID { return "" }},
		"somebody else's (R35, N6, N24)": {reason: "It belongs to another object.", owner: func(*thing.Thing) types.UID { return somebody }},
		"our own (N6)":                   {reason: "It carries our UID.", owner: func(mg *thing.Thing) types.UID { return mg.UID }, adopted: true},
		"failed, unlabelled (N6)":        {reason: "Ours was refused; this is somebody's.", unlabelled: true, annotated: failed()},
		"taken over (N6)":                {reason: "The user asked for it.", annotated: given(), owner: func(*thing.Thing) types.UID { return somebody }, adopted: true},
		"taken back (N24)": {reason: "Two objects must not fight for one resource.", annotated: given(), finalizer: true,
			owner: func(*thing.Thing) types.UID { return somebody }},
		"name given (R70)":        {reason: "The user asked for it.", annotated: given(), adopted: true},
		"name proposed (N6, N24)": {reason: "Who writes claims has no say over what exists.", annotated: proposed()},
		"proposed, unlabelled (N24)": {reason: "Who writes claims has no say over what exists.", annotated: proposed(), unlabelled: true,
			owner: func(*thing.Thing) types.UID { return somebody }},
		"proposed, our own (N6)": {reason: "It carries our UID.", annotated: proposed(), owner: func(mg *thing.Thing) types.UID { return mg.UID }, adopted: true},
		"creation began (N5)":    {reason: "Nothing else could have made it.", unlabelled: true, annotated: began(), adopted: true},
		"began, nobody's (N6)":   {reason: "Ours would say so.", annotated: began(), owner: func(*thing.Thing) types.UID { return "" }},
		"created, no tags (P15)": {reason: "People remove labels.", annotated: created(), owner: func(*thing.Thing) types.UID { return "" }, adopted: true},
		"created, other's (N24)": {reason: "Ours went, theirs came.", annotated: created(), owner: func(*thing.Thing) types.UID { return somebody }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				if tc.finalizer {
					mg.Finalizers = []string{managed.Finalizer}
				}
				mg.Annotations = map[string]string{}
				for key, value := range tc.annotated {
					mg.Annotations[key] = strings.ReplaceAll(value, "NAME", mg.Name)
				}
			})
			s.system.Unlabelled = tc.unlabelled
			have := thing.Resource{Size: 7}
			if tc.owner != nil {
				have.Owner = tc.owner(s.thing())
			}
			s.system.Resources[s.key.Name] = have
			for range 2 {
				s.pass()
			}
			if adopted := s.system.Snapshot()[s.key.Name].Size == 1; adopted != tc.adopted {
				t.Fatalf("%s adopted: %t, want %t", tc.reason, adopted, tc.adopted)
			}
			if !tc.adopted {
				s.wantMessage("exists already", meta.AnnotationKeyExternalName)
				if diff := gocmp.Diff(map[string]thing.Resource{s.key.Name: have}, s.system.Snapshot()); diff != "" {
					t.Errorf("resources -before +after:\n%s", diff)
				}
				if got := s.state(); got != "Ready=Unavailable Synced=ReconcileError" || s.thing().Status.AtProvider.Size != 0 {
					t.Errorf("the object tells of what is not its own: %s, %+v", got, s.thing().Status.AtProvider)
				}
			}
			s.delete()
			s.pass()
			if _, kept := s.system.Snapshot()[s.key.Name]; kept == tc.adopted || s.state() != "gone" {
				t.Errorf("deleting the object deletes what it owns and nothing else: resource kept %t, user sees %s", kept, s.state())
			}
		})
	}
}

func given() map[string]string {
	return map[string]string{meta.AnnotationKeyExternalName: "NAME"}
}

func proposed() map[string]string {
	a := given()
	a[meta.AnnotationKeyExternalNameProposed] = "true"
	return a
}

func failed() map[string]string {
	a := began()
	a[meta.AnnotationKeyExternalCreateFailed] = pending
	return a
}

func began() map[string]string {
	return map[string]string{meta.AnnotationKeyExternalName: "NAME", meta.AnnotationKeyExternalCreatePending: pending}
}

func created() map[string]string {
	a := began()
	a[meta.AnnotationKeyExternalCreateSucceeded] = pending
	return a
}

// A creation that has a result, or never began, waits for nobody.
func TestNotSuspected(t *testing.T) {
	t.Parallel()
	for name, annotations := range map[string]map[string]string{
		"as old as the success (R83)":  {meta.AnnotationKeyExternalCreatePending: pending, meta.AnnotationKeyExternalCreateSucceeded: pending},
		"as old as the failure (R95)":  {meta.AnnotationKeyExternalCreatePending: pending, meta.AnnotationKeyExternalCreateFailed: pending},
		"nothing was ever begun (R83)": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) { mg.Annotations = annotations }, managed.WithVendorNames(), managed.WithCreationGracePeriod(0))
			s.system.VendorNames = true
			s.pass()
			if got := meta.GetExternalName(s.thing()); got != "vendor-1" || s.state() != "Ready=Available Synced=ReconcileSuccess" {
				t.Errorf("external name %q, the user sees %s: %s", got, s.state(), s.message())
			}
		})
	}
}

// An error that leaves open whether the resource was created does not prove that it was not; a refusal does.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refuse, lose error
		want         xpv1.CurrentFailure
	}{
		"a timeout": {lose: context.DeadlineExceeded, want: xpv1.CurrentFailure{Reason: failure.CreateInterrupted, Stalled: true}},
		"an internal error": {lose: failure.OutcomeUnknown(errors.New("internal error")),
			want: xpv1.CurrentFailure{Reason: failure.CreateInterrupted, Stalled: true}},
		"a refusal, which is retried (R95)": {refuse: errors.New("quota exceeded")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, managed.WithVendorNames())
			s.system.VendorNames = true
			s.failOnce("Create", tc.refuse, tc.lose)
			s.pass()
			s.clock = s.clock.Add(time.Hour)
			s.pass()
			if got := xpv1.FailureOf(s.thing()); got != tc.want || len(s.system.Snapshot()) != 1 {
				t.Errorf("the failure is %+v, resources %v", got, s.system.Snapshot())
			}
		})
	}
}

// A creation that was cut off may still be under way; only a client that repeats its answer may ask at once (N26).
func TestCutOffCreation(t *testing.T) {
	t.Parallel()
	for name, replays := range map[string]bool{"waits (N26)": false, "asks again (N22)": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				mg.Annotations = map[string]string{meta.AnnotationKeyExternalCreatePending: pending}
			})
			s.system.Replays = replays
			s.clock = s.clock.Add(time.Second)
			s.pass()
			if created := s.system.Called("Create") == 1; created != replays {
				t.Errorf("a second after the beginning Create was called: %t, want %t", created, replays)
			}
			s.clock = s.clock.Add(-time.Hour)
			if after := s.pass(); after > time.Minute+time.Minute/10 {
				t.Errorf("a clock that was set back makes it wait %s", after)
			}
			s.clock = s.clock.Add(2 * time.Hour)
			s.pass()
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
				t.Errorf("in the end the user sees %s", got)
			}
		})
	}
}

// What a user does to the object while Create runs must not cost the result.
func TestEditDuringCreate(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, managed.WithVendorNames())
	s.system.VendorNames = true
	s.system.Fault = func(verb string) (error, error) {
		if verb == "Create" {
			s.edit(func(mg *thing.Thing) {
				mg.Spec.ForProvider.Size = 5
				delete(mg.Annotations, meta.AnnotationKeyExternalCreatePending)
			})
		}
		return nil, nil
	}
	s.pass()
	s.system.Fault = nil
	s.pass()
	want := "vendor-1"
	if have := s.system.Snapshot(); len(have) != 1 || have[want].Size != 5 || meta.GetExternalName(s.thing()) != want {
		t.Errorf("resources %v, external name %q (R93)", have, meta.GetExternalName(s.thing()))
	}
}

// A creation whose answer would be asked for again has ended all the same, where another resource is the object's now, or
// nothing may be created any more.
func TestNothingToReplay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refuse, lose error
		act          func(*stage)
		want         string
	}{
		"the user names another resource (N22, N6, R70)": {refuse: errors.New("over quota"), want: "other", act: func(s *stage) {
			s.system.Resources["other"] = thing.Resource{Size: 1}
			s.annotate(meta.AnnotationKeyExternalName, "other")
		}},
		"the policies lack Create (N22, R110)": {lose: context.DeadlineExceeded, act: func(s *stage) {
			s.edit(func(mg *thing.Thing) { mg.Spec.ManagementPolicies = policies("Observe", "Update", "Delete") })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.system.Replays = true
			s.failOnce("Create", tc.refuse, tc.lose)
			s.pass()
			tc.act(s)
			s.system.TakeCalls()
			s.pass()
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || s.system.Called("Create") != 0 {
				t.Errorf("the user sees %s: %s; calls %v", got, s.message(), s.system.TakeCalls())
			}
			if mg := s.thing(); meta.ExternalCreateUnacknowledged(mg) || meta.GetExternalName(mg) != cmp.Or(tc.want, mg.Name) {
				t.Errorf("annotations %v", mg.Annotations)
			}
			if have := s.system.Snapshot(); len(have) != 1 {
				t.Errorf("resources %v", have)
			}
		})
	}
}

// A provider that forgets to say what it created must not create for ever.
func TestCreateWithoutName(t *testing.T) {
	t.Parallel()
	t.Run("it stops until a person says the name (R65, R84)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil, managed.WithVendorNames())
		s.system.VendorNames = true
		s.through(altering{created: func(mg *thing.Thing, _ *managed.ExternalCreation) {
			delete(mg.Annotations, meta.AnnotationKeyExternalName)
		}})
		if after := s.pass(); after != 0 {
			t.Errorf("it comes back after %s", after)
		}
		s.wantMessage("bug in the provider", meta.AnnotationKeyExternalName, meta.AnnotationKeyExternalCreatePending)
		if told := s.events.Take(); !slices.Equal(told, []event.Reason{managed.ReasonCannotCreate}) {
			t.Errorf("told %v", told)
		}
		for range 2 {
			s.clock = s.clock.Add(time.Hour)
			if after := s.pass(); after != 0 || s.system.Called("Create") != 1 {
				t.Errorf("it comes back after %s, Create was called %d times", after, s.system.Called("Create"))
			}
		}
		s.annotate(meta.AnnotationKeyExternalName, "vendor-1")
		s.annotate(meta.AnnotationKeyExternalCreatePending, "")
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || len(s.system.Snapshot()) != 1 {
			t.Errorf("the user sees %s: %s; resources %v", got, s.message(), s.system.Snapshot())
		}
	})
}

// A secret of somebody else's keeps the details of a creation from being stored, and nothing else.
func TestUnpublishedReplay(t *testing.T) {
	t.Parallel()
	t.Run("the resource is deleted with its object (N22, N32, R214)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil, managed.WithVendorNames())
		s.system.VendorNames, s.system.Replays = true, true
		s.store(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.secret.Namespace, Name: s.secret.Name}})
		s.pass()
		s.wantMessage("does not belong to this object")
		if got := meta.GetExternalName(s.thing()); got != "vendor-1" {
			t.Errorf("external name %q", got)
		}
		s.delete()
		s.restart(s.env.Config)
		s.clock = s.clock.Add(time.Minute)
		s.pass()
		if got := s.state(); got != "gone" || len(s.system.Snapshot()) != 0 {
			t.Errorf("the user sees %s, resources %v", got, s.system.Snapshot())
		}
	})
}

// A resource that was accepted and then waited for in vain is there, and has told its password.
func TestAcceptedThenFailed(t *testing.T) {
	t.Parallel()
	for name, o := range map[string][]managed.ReconcilerOption{
		"in the pass (N22, N5)":       {managed.WithVendorNames()},
		"in the background (N22, N5)": {managed.WithVendorNames(), managed.WithBackgroundOperations(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, o...)
			s.system.VendorNames = true
			s.through(altering{failing: failure.Accepted(errors.New("waited in vain"))})
			s.env.Eventually(t, "the error is told", func(context.Context) error {
				s.pass()
				if got := s.thing().GetCondition(xpv1.TypeSynced).Message; !strings.Contains(got, "waited in vain") {
					return errors.New(got)
				}
				return nil
			})
			if got := s.connection()["password"]; got != "password-1" {
				t.Errorf("the connection secret has password %q", got)
			}
			s.through(altering{})
			s.clock = s.clock.Add(time.Minute)
			s.pass()
			if got := s.thing(); meta.GetExternalName(got) != "vendor-1" || meta.ExternalCreateIncomplete(got) || len(s.system.Snapshot()) != 1 {
				t.Errorf("annotations %v, resources %v", got.Annotations, s.system.Snapshot())
			}
		})
	}
}
