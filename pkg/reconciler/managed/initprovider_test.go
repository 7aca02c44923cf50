// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// nodeGroup is the example of the documentation: an autoscaler owns the desired size, the user the limits.
func nodeGroup(mg *thing.Thing) {
	mg.Spec.ForProvider = thing.Parameters{Size: 1, ScalingConfig: []thing.Scaling{{MinSize: new(1), MaxSize: new(4)}}}
	mg.Spec.InitProvider = &thing.Parameters{Size: 7, Zone: new("zone-a"), ScalingConfig: []thing.Scaling{{DesiredSize: new(1)}}}
}

// autoscale changes the desired size and the zone behind our back.
func (s *stage) autoscale(to int) {
	s.system.Do(func(sys *thing.System) {
		have := sys.Resources[s.key.Name]
		have.Zone, have.Scaling = "zone-b", []thing.Scaling{{MinSize: new(1), MaxSize: new(4), DesiredSize: &to}}
		sys.Resources[s.key.Name] = have
	})
}

func TestInitProvider(t *testing.T) {
	t.Parallel()
	s := newStage(t, nodeGroup)
	declared := s.thing().Spec
	step := func(name string, act func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			s.system.Do(func(sys *thing.System) { clear(sys.Sent) })
			s.system.TakeCalls()
			act(t)
		})
	}
	union := thing.Parameters{Size: 1, Zone: new("zone-a"), ScalingConfig: []thing.Scaling{{MinSize: new(1), MaxSize: new(4), DesiredSize: new(1)}}}

	step("Create gets both, also in nested lists, and forProvider wins (R138, R141, R142, D46)", func(t *testing.T) {
		s.pass()
		wantSent(t, s, "Create", union)
	})
	step("neither creation nor late initialization copies it into the stored forProvider (R146, D46)", func(t *testing.T) {
		s.pass()
		if diff := cmp.Diff(declared, s.thing().Spec); diff != "" {
			t.Errorf("spec -before +after:\n%s", diff)
		}
	})
	step("an autoscaler may change what only initProvider sets (R138, R139, R143, R145)", func(t *testing.T) {
		writes := s.countWrites()
		s.autoscale(3)
		s.pass()
		s.take(writes)
		s.pass()
		wantSent(t, s, "Update")
		if made, told := s.take(writes); len(made)+len(told) != 0 || *s.has().Scaling[0].DesiredSize != 3 {
			t.Errorf("wrote %v, told %v, desired size %d", made, told, *s.has().Scaling[0].DesiredSize)
		}
	})
	step("a user's later change of it is ignored (R140)", func(t *testing.T) {
		s.edit(func(mg *thing.Thing) {
			mg.Spec.InitProvider.Zone, mg.Spec.InitProvider.ScalingConfig[0].DesiredSize = new("zone-c"), new(2)
		})
		s.pass()
		wantSent(t, s, "Update")
	})
	step("an update because of something else does not send it (R144, R36)", func(t *testing.T) {
		s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
		s.pass()
		wantSent(t, s, "Update", thing.Parameters{Size: 2, ScalingConfig: []thing.Scaling{{MinSize: new(1), MaxSize: new(4)}}})
	})
	step("what forProvider sets beside it is enforced (R137, R40)", func(t *testing.T) {
		s.system.Do(func(sys *thing.System) { sys.Resources[s.key.Name].Scaling[0].MaxSize = new(9) })
		s.pass()
		if got := *s.has().Scaling[0].MaxSize; got != 4 {
			t.Errorf("the largest size is %d", got)
		}
	})
	step("creating anew applies it again, as it is now (R148)", func(t *testing.T) {
		s.system.Do(func(sys *thing.System) { clear(sys.Resources) })
		s.pass()
		wantSent(t, s, "Create", thing.Parameters{Size: 2, Zone: new("zone-c"),
			ScalingConfig: []thing.Scaling{{MinSize: new(1), MaxSize: new(4), DesiredSize: new(2)}}})
	})
}

// wantSent compares what Create or Update was called with.
func wantSent(t *testing.T, s *stage, verb string, want ...thing.Parameters) {
	t.Helper()
	if diff := cmp.Diff(want, s.system.Sent[verb]); diff != "" {
		t.Errorf("what %s was sent -want +got:\n%s", verb, diff)
	}
}

// However Create ends, what it was given is gone from the object afterwards, and what it set stays.
func TestInitProviderAfterCreate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		refuse, lose error
		options      []managed.ReconcilerOption
		name         string // external name in the end
	}{
		"refused (R42, D46)":                 {refuse: errors.New("no room left")},
		"answer lost (R42, D46)":             {lose: failure.OutcomeUnknown(errors.New("internal error"))},
		"the vendor chose a name (R65, D46)": {options: []managed.ReconcilerOption{managed.WithVendorNames()}, name: "vendor-1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nodeGroup, tc.options...)
			s.system.VendorNames = tc.name != ""
			declared := s.thing().Spec
			s.failOnce("Create", tc.refuse, tc.lose)
			s.pass()
			s.pass()
			if diff := cmp.Diff(declared, s.thing().Spec); diff != "" {
				t.Errorf("spec -before +after:\n%s", diff)
			}
			if got := meta.GetExternalName(s.thing()); tc.name != "" && got != tc.name {
				t.Errorf("external name %q, want %q", got, tc.name)
			}
		})
	}
}

// A resource that is not as declared right after its creation is updated in the same pass, and everything is stored first.
func TestUpdateAfterCreate(t *testing.T) {
	t.Parallel()
	t.Run("it neither stores nor sends initProvider (R42, R144, D46)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nodeGroup)
		declared := s.thing().Spec
		s.alter(func(_ *thing.Thing, o *managed.ExternalObservation) { o.ResourceUpToDate = false })
		s.pass()
		wantSent(t, s, "Update", declared.ForProvider)
		if diff := cmp.Diff(declared, s.thing().Spec); diff != "" {
			t.Errorf("spec -before +after:\n%s", diff)
		}
	})
}

// What the vendor requires may be given in either place, and must be in one.
func TestRequiredInInitProvider(t *testing.T) {
	t.Parallel()
	t.Run("in initProvider only (R147)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) {
			mg.Spec.ForProvider = thing.Parameters{}
			mg.Spec.InitProvider = &thing.Parameters{Size: 7}
		})
		s.pass()
		if have := s.has(); have.Size != 7 {
			t.Errorf("created with size %d", have.Size)
		}
	})
	t.Run("in neither (R147)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		mg := s.thing()
		mg.Spec.ForProvider = thing.Parameters{}
		if err := s.env.Client.Update(t.Context(), mg); !apierrors.IsInvalid(err) {
			t.Errorf("got %v", err)
		}
	})
}
