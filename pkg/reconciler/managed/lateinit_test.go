// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// The client of these tests overwrites the whole spec with what the system reports; what may be stored is the
// reconciler's to judge.
func TestLateInitialization(t *testing.T) {
	t.Parallel()
	vendor := thing.Resource{Size: 1, Zone: "zone-a", Scaling: []thing.Scaling{{MinSize: new(1), MaxSize: new(5)}}, Tags: map[string]string{"by": "vendor"}}
	cases := map[string]struct {
		spec, init thing.Parameters
		without    bool // without the policy LateInitialize
		have       thing.Resource
		want       thing.Parameters
	}{
		"what is empty is filled (R149, R150, R151, R157)": {
			spec: thing.Parameters{Size: 1}, have: vendor,
			want: thing.Parameters{Size: 1, Zone: new("zone-a"), ScalingConfig: vendor.Scaling, Tags: vendor.Tags},
		},
		"what the user set stays (R149, P26)": {
			spec: thing.Parameters{Size: 2, Zone: new("zone-b"), ScalingConfig: []thing.Scaling{{MinSize: new(2), MaxSize: new(3)}}, Tags: map[string]string{"by": "me"}},
			have: vendor,
			want: thing.Parameters{Size: 2, Zone: new("zone-b"), ScalingConfig: []thing.Scaling{{MinSize: new(2), MaxSize: new(3)}}, Tags: map[string]string{"by": "me"}},
		},
		"tags that the vendor added are filled in (R151)": {
			spec: thing.Parameters{Size: 1, Tags: map[string]string{"mine": "too"}}, have: thing.Resource{Size: 1, Tags: map[string]string{"mine": "too", "by": "vendor"}},
			want: thing.Parameters{Size: 1, Tags: map[string]string{"mine": "too", "by": "vendor"}},
		},
		"zero behind a pointer is the user's value, an empty map is not (R155)": {
			spec: thing.Parameters{Size: 1, Zone: new("zone-a"), ScalingConfig: []thing.Scaling{{MinSize: new(0), MaxSize: new(5)}}, Tags: map[string]string{}},
			have: vendor,
			want: thing.Parameters{Size: 1, Zone: new("zone-a"), ScalingConfig: []thing.Scaling{{MinSize: new(0), MaxSize: new(5)}}, Tags: vendor.Tags},
		},
		"what initProvider sets is not filled (R146)": {
			spec: thing.Parameters{Size: 1}, init: thing.Parameters{Zone: new("zone-c"), ScalingConfig: []thing.Scaling{{MinSize: new(3)}}}, have: vendor,
			want: thing.Parameters{Size: 1, ScalingConfig: []thing.Scaling{{MaxSize: new(5)}}, Tags: vendor.Tags},
		},
		"nothing without the policy (R152, R112)": {
			spec: thing.Parameters{Size: 1}, without: true, have: vendor,
			want: thing.Parameters{Size: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				mg.Spec.ForProvider, mg.Spec.InitProvider = tc.spec, &tc.init
				if tc.without {
					mg.Spec.ManagementPolicies = policies("Create", "Observe", "Update", "Delete")
				}
			})
			s.give(tc.have)
			for range 2 {
				s.pass()
				if diff := cmp.Diff(tc.want, s.thing().Spec.ForProvider); diff != "" {
					t.Errorf("spec.forProvider -want +got:\n%s", diff)
				}
			}
		})
	}
}

// What a creation costs with and without settings that the vendor chooses.
func TestLateInitializationWrites(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		zone, chosen string
		creation     int
	}{
		"one write more where there is something to fill (R150)":       {chosen: "zone-a", creation: 5},
		"none where the user set all (R149, N13)":                      {zone: "zone-a", chosen: "zone-a", creation: 4},
		"none where the system reports nothing to fill in (R149, N13)": {creation: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				if tc.zone != "" {
					mg.Spec.ForProvider.Zone = &tc.zone
				}
			})
			s.system.Zone = tc.chosen
			writes := s.countWrites()
			s.pass()
			if made, _ := s.take(writes); len(made) != tc.creation {
				t.Errorf("creation wrote %d times, want %d: %v", len(made), tc.creation, made)
			}
			s.pass()
			if made, _ := s.take(writes); len(made) != 0 {
				t.Errorf("the next pass wrote %v", made)
			}
		})
	}
}

func TestFilledField(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.system.Zone = "zone-a"
	t.Run("the status of the pass that fills is kept (R156, R199)", func(t *testing.T) {
		s.pass()
		mg := s.thing()
		if mg.Spec.ForProvider.Zone == nil || mg.Status.AtProvider.Zone == nil {
			t.Errorf("spec %+v, status %+v", mg.Spec.ForProvider, mg.Status.AtProvider)
		}
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s", got)
		}
		for _, c := range mg.Status.Conditions {
			if c.ObservedGeneration != mg.Generation {
				t.Errorf("condition %s is of generation %d, the object of %d", c.Type, c.ObservedGeneration, mg.Generation)
			}
		}
	})
	t.Run("filling causes no Update (R154)", func(t *testing.T) {
		s.pass()
		if n := s.system.Called("Update"); n != 0 {
			t.Errorf("Update was called %d times", n)
		}
	})
	t.Run("a filled field is enforced (R153, R137)", func(t *testing.T) {
		s.system.Do(func(sys *thing.System) {
			have := sys.Resources[s.key.Name]
			have.Zone = "zone-b"
			sys.Resources[s.key.Name] = have
		})
		s.pass()
		if got := s.has().Zone; got != "zone-a" {
			t.Errorf("the zone is now %s", got)
		}
	})
}

// What is sent is what the object shows, whether the call succeeds or not.
func TestStoredBeforeSent(t *testing.T) {
	t.Parallel()
	t.Run("a creation that fails (R42)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) { mg.Spec.ForProvider.Tags = map[string]string{"mine": "yes"} })
		s.failOnce("Create", errors.New("no room left"), nil)
		s.pass()
		wantSent(t, s, "Create", s.thing().Spec.ForProvider)
	})
	t.Run("an update that fails in the pass that fills (R42, R150, R67)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.give(thing.Resource{Size: 7, Zone: "zone-a"})
		s.failOnce("Update", errors.New("not now"), nil)
		s.pass()
		wantSent(t, s, "Update", s.thing().Spec.ForProvider)
		s.pass()
		if have := s.system.Snapshot(); len(have) != 1 || s.has().Size != 1 || s.has().Zone != "zone-a" {
			t.Errorf("resources %+v", have)
		}
	})
	t.Run("nothing is sent if the spec could not be stored (R42, R78)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.give(thing.Resource{Size: 7, Zone: "zone-a"})
		s.restart(fault.InterceptWrites(s.env.Config, func(string) (refuse, lose error) { return errors.New("the API server is away"), nil }))
		_, _ = s.tryPass() // nor can it tell anybody
		wantSent(t, s, "Update")
	})
	t.Run("somebody else's change wins over filling (R156, R17)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.give(thing.Resource{Size: 7, Zone: "zone-a"})
		s.system.Fault = func(verb string) (error, error) {
			if verb == "Observe" {
				s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Zone = new("zone-b") })
			}
			return nil, nil
		}
		s.pass()
		wantSent(t, s, "Update")
		s.system.Fault = nil
		s.pass()
		if got := *s.thing().Spec.ForProvider.Zone; got != "zone-b" || s.thing().GetCondition(xpv1.TypeSynced).Status != "True" {
			t.Errorf("the zone is %s, the user sees %s", got, s.state())
		}
	})
}

// A spec that a step completed is stored although the external resource is as declared.
func TestStoredWhileUpToDate(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]xpv1.ManagementPolicies{
		"what a reference resolves to (R161, R42)":                          policies("*"),
		"what a reference resolves to, nothing is filled (R161, R42, R112)": policies("Observe", "Create", "Update", "Delete"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				mg.Spec.ManagementPolicies = allowed
				mg.Spec.ForProvider.Neighbour = new("next-outside")
			})
			next := s.neighbour("next", func(mg *thing.Thing) {
				mg.Annotations = map[string]string{meta.AnnotationKeyExternalName: "next-outside"}
			})
			s.pass()
			s.edit(func(mg *thing.Thing) {
				mg.Spec.ForProvider.Neighbour, mg.Spec.ForProvider.NeighbourRef = nil, &xpv1.Reference{Name: next.Name}
			})
			s.pass()
			if got := s.thing().Spec.ForProvider.Neighbour; got == nil || *got != "next-outside" || s.system.Called("Update") != 0 {
				t.Errorf("the user sees %s, Update was called %d times", s.state(), s.system.Called("Update"))
			}
		})
	}
}

// What the schema refuses to take over keeps nothing else from being done, and is not tried all the time.
func TestRefusedFilling(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.pass()
	writes := s.countWrites()
	refused := func(made []string) (n int) {
		for _, w := range made {
			if strings.HasSuffix(w, "/things/"+s.key.Name) {
				n++
			}
		}
		return n
	}
	for _, m := range []struct {
		name    string
		act     func()
		tries   int
		told    []event.Reason
		message string // of condition Synced; empty for none
	}{
		{name: "the rest is done and the user is told (R150, R206, R24)", tries: 1,
			told: []event.Reason{managed.ReasonUpdated, managed.ReasonCannotFill}, message: "zone has more than 8 characters", act: func() {
				s.give(thing.Resource{Size: 7, Zone: "zone-with-a-long-name"})
				s.system.Endpoint = "elsewhere"
			}},
		{name: "it is not tried again at once (N13)", act: func() {}, message: "zone has more than 8 characters"},
		{name: "nor with an update (R24)", act: func() { s.resize(7) },
			told: []event.Reason{managed.ReasonUpdated}, message: "late initialization of zone"},
		{name: "it is tried again at the poll (R150)", act: func() { s.clock = s.clock.Add(66 * time.Second) }, tries: 1,
			message: "leave LateInitialize out of managementPolicies"},
		{name: "and when the spec changes (R150)", act: func() { s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 }) }, tries: 1,
			told: []event.Reason{managed.ReasonUpdated}, message: "zone has more than 8 characters"},
		{name: "until the user sets the field (R149, R196)", act: func() {
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Zone = new("zone-b") })
		}, told: []event.Reason{managed.ReasonUpdated}},
	} {
		t.Run(m.name, func(t *testing.T) {
			m.act()
			s.take(writes)
			if after := s.pass(); after < 54*time.Second || after > 66*time.Second {
				t.Errorf("it comes back after %s", after)
			}
			made, told := s.take(writes)
			if n := refused(made); n != m.tries {
				t.Errorf("tried to store it %d times, want %d", n, m.tries)
			}
			if diff := cmp.Diff(m.told, told); diff != "" {
				t.Errorf("events -want +got:\n%s", diff)
			}
			if mg := s.thing(); s.has().Size != mg.Spec.ForProvider.Size || s.connection()["endpoint"] != "elsewhere" {
				t.Errorf("the resource is %+v, the secret holds %v", s.has(), s.connection())
			}
			synced := s.thing().GetCondition(xpv1.TypeSynced)
			if ready := s.thing().GetCondition(xpv1.TypeReady); ready.Status != "True" || (synced.Status == "True") != (m.message == "") {
				t.Errorf("the user sees %s: %s", s.state(), synced.Message)
			}
			s.wantMessage(m.message)
		})
	}
}

func TestRefusedFillingOfNewResource(t *testing.T) {
	t.Parallel()
	t.Run("a resource that is not usable yet is looked at as soon as any (R44, R181, R150)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.system.Zone = "zone-with-a-long-name"
		s.alter(func(mg *thing.Thing, _ *managed.ExternalObservation) { mg.SetConditions(xpv1.Creating()) })
		s.clock = time.Now() // conditions have the time of the process
		if after := s.pass(); after > time.Second || s.state() != "Ready=Creating Synced=ReconcileError" {
			t.Errorf("it comes back after %s, the user sees %s", after, s.state())
		}
		if mg := s.thing(); meta.ExternalCreateIncomplete(mg) || mg.Status.AtProvider.Zone == nil {
			t.Errorf("annotations %v, status %+v", mg.Annotations, mg.Status.AtProvider)
		}
	})
	t.Run("a refusal shows no sensitive value (R234, R150)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.give(thing.Resource{Size: 1, AccessToken: "hunter2-hunter2-hunter2-hunter2-hunter2"})
		s.pass()
		s.wantMessage("late initialization of accessToken", "not shown here")
		if strings.Contains(s.message(), "hunter2") || strings.Contains(fmt.Sprint(s.events.All()), "hunter2") {
			t.Errorf("the message is %s", s.message())
		}
	})
}
