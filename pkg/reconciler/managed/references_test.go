// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// neighbour puts another Thing beside the one on stage; change may alter it first.
func (s *stage) neighbour(name string, change func(*thing.Thing)) types.NamespacedName {
	s.t.Helper()
	mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: s.env.Prefix + name}}
	mg.Spec.ForProvider.Size = 1
	if change != nil {
		change(mg)
	}
	if err := s.env.Client.Create(s.t.Context(), mg); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { strike(s.env, mg.Name) })
	return client.ObjectKeyFromObject(mg)
}

func refersTo(name string) func(*thing.Thing) {
	return func(mg *thing.Thing) { mg.Spec.ForProvider.NeighbourRef = &xpv1.Reference{Name: name} }
}

// passOver reconciles another Thing than the one on stage.
func (s *stage) passOver(key types.NamespacedName) {
	s.t.Helper()
	req := reconcile.Request{NamespacedName: key}
	s.reconciler.Wake(req)
	if _, err := s.reconciler.Reconcile(s.t.Context(), req); err != nil {
		s.t.Fatal(err)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.edit(refersTo(s.env.Prefix + "next"))
	t.Run("nothing is asked of the external system before there is a value (R166, R167)", func(t *testing.T) {
		s.pass()
		s.wantMessage("resolving references", "next", "does not exist")
		if diff := cmp.Diff([]event.Reason{managed.ReasonCannotResolve}, s.events.Take()); diff != "" {
			t.Errorf("events -want +got:\n%s", diff)
		}
		if calls := s.system.TakeCalls(); len(calls) != 0 {
			t.Errorf("calls %v", calls)
		}
	})
	t.Run("nor while the target's creation is not recorded (N36, R167)", func(t *testing.T) {
		s.neighbour("next", func(mg *thing.Thing) {
			mg.Annotations = map[string]string{
				meta.AnnotationKeyExternalName:          "next-outside",
				meta.AnnotationKeyExternalCreatePending: "2026-01-01T00:00:00Z",
			}
		})
		s.pass()
		s.wantMessage("resolving references")
		if calls := s.system.TakeCalls(); len(calls) != 0 {
			t.Errorf("calls %v", calls)
		}
	})
	t.Run("the value is stored before it is sent, without another write (R161, R165, R42)", func(t *testing.T) {
		next := &thing.Thing{}
		if err := s.env.Client.Get(t.Context(), types.NamespacedName{Name: s.env.Prefix + "next"}, next); err != nil {
			t.Fatal(err)
		}
		next.Annotations[meta.AnnotationKeyExternalCreateSucceeded] = "2026-01-01T00:00:00Z"
		if err := s.env.Client.Update(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		writes := s.countWrites()
		var stored *string
		s.system.Do(func(sys *thing.System) {
			sys.Fault = func(verb string) (error, error) {
				if verb == "Create" {
					stored = s.thing().Spec.ForProvider.Neighbour
				}
				return nil, nil
			}
		})
		s.pass()
		if stored == nil || *stored != "next-outside" {
			t.Errorf("when Create is called the object says %v", stored)
		}
		if have := s.has(); have.Neighbour != "next-outside" {
			t.Errorf("the resource has %q", have.Neighbour)
		}
		if len(*writes) != 4 {
			t.Errorf("writes %v, want metadata, secret, metadata and status", *writes)
		}
	})
	t.Run("the value is kept when the target changes (R168)", func(t *testing.T) {
		next := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: s.env.Prefix + "next"}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"crossplane.io/external-name":"other"}}}`))
		if err := s.env.Client.Patch(t.Context(), next, patch); err != nil {
			t.Fatal(err)
		}
		s.pass()
		if have := s.has(); have.Neighbour != "next-outside" {
			t.Errorf("the resource has %q", have.Neighbour)
		}
	})
	t.Run("deletion does not wait for a target that is gone (R173, D47)", func(t *testing.T) {
		strike(s.env, s.env.Prefix+"next")
		s.delete()
		s.pass()
		if got := s.state(); got != "gone" {
			t.Errorf("the user sees %s: %s", got, s.message())
		}
	})
}

// One who waits for another goes on when that can be used, although it polls once an hour.
func TestWaitingForTarget(t *testing.T) {
	t.Parallel()
	env := controlplanetest.NewWithScheme(t, newScheme(t))
	only := map[string]string{"test": strings.Trim(env.Prefix, "-")}
	runController(t, env.Config, thing.NewSystem(), cache.ByObject{Label: labels.SelectorFromSet(only)}, managed.WithPollInterval(time.Hour))
	add := func(name string, change func(*thing.Thing)) *thing.Thing {
		mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: env.Prefix + name, Labels: only}}
		mg.Spec.ForProvider.Size = 1
		change(mg)
		if err := env.Client.Create(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { strike(env, mg.Name) })
		return mg
	}
	byName := add("by-name", refersTo(env.Prefix+"target"))
	byLabel := add("by-label", func(mg *thing.Thing) {
		mg.Spec.ForProvider.NeighbourSelector = &xpv1.Selector{MatchLabels: map[string]string{"role": env.Prefix + "target"}}
	})
	for _, mg := range []*thing.Thing{byName, byLabel} {
		eventually(t, env, mg, "waits", func() bool { return mg.GetCondition(xpv1.TypeSynced).Reason == xpv1.ReasonReconcileError })
	}
	target := add("target", func(mg *thing.Thing) {
		mg.Labels = map[string]string{"test": only["test"], "role": env.Prefix + "target"}
	})
	began := time.Now()
	for name, mg := range map[string]*thing.Thing{"by name (R161)": byName, "by labels (R162, R165)": byLabel} {
		t.Run(name+", within moments", func(t *testing.T) {
			eventually(t, env, mg, "Ready", func() bool { return mg.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonAvailable })
			if got := mg.Spec.ForProvider.NeighbourRef; got == nil || got.Name != target.Name {
				t.Errorf("the object refers to %v", got)
			}
		})
	}
	t.Logf("both Ready %s after their target was asked for", time.Since(began).Round(time.Millisecond))
}

// Objects that refer to one under deletion go first if they are being deleted, too; it does not wait for the others.
func TestDeletionOrder(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dependent func(*stage, types.NamespacedName) // what became of it
		waits     bool
		event     bool
	}{
		"one that is being deleted (N32)": {
			dependent: func(s *stage, key types.NamespacedName) { s.remove(key) }, waits: true,
		},
		"one that stays (N32)": {
			dependent: func(*stage, types.NamespacedName) {},
		},
		"a paused one (N32)": {
			dependent: func(s *stage, key types.NamespacedName) {
				s.patch(key, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
				s.remove(key)
			}, event: true,
		},
		"one that waits for a person (N32)": {
			dependent: func(s *stage, key types.NamespacedName) {
				s.patch(key, `{"metadata":{"annotations":{"crossplane.io/external-create-pending":"2030-01-01T00:00:00Z"}}}`)
				s.alterStatus(key, func(mg *thing.Thing) {
					mg.SetConditions(xpv1.Stalled(failure.CreateInterrupted, ""))
				})
				s.remove(key)
			}, event: true,
		},
		"one whose creation was cut off and heals by itself (N32, N5)": {
			dependent: func(s *stage, key types.NamespacedName) {
				s.patch(key, `{"metadata":{"annotations":{"crossplane.io/external-create-pending":"2030-01-01T00:00:00Z"}}}`)
				s.remove(key)
			}, waits: true,
		},
		"one that takes more than five minutes (N32)": {
			dependent: func(s *stage, key types.NamespacedName) {
				s.remove(key)
				s.clock = time.Now().Add(5*time.Minute + time.Second)
			}, event: true,
		},
		"one that the deleted object refers to itself (N32)": {
			dependent: func(s *stage, key types.NamespacedName) {
				s.edit(refersTo(key.Name))
				s.pass()
				s.remove(key)
			}, event: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.pass()
			key := s.neighbour("dependent", refersTo(s.key.Name))
			s.passOver(key)
			tc.dependent(s, key)
			s.delete()
			s.events.Take()
			s.pass()
			if tc.waits {
				s.wantMessage("waits for objects that refer to this one", key.Name)
				s.passOver(key)
				s.pass()
			}
			if got := s.state(); got != "gone" {
				t.Errorf("the user sees %s: %s", got, s.message())
			}
			events := fmt.Sprint(s.events.Take())
			if got := strings.Contains(events, string(managed.ReasonDisorder)); got != tc.event {
				t.Errorf("events %s, one of disorder wanted: %t", events, tc.event)
			}
		})
	}
}

func (s *stage) remove(key types.NamespacedName) {
	s.t.Helper()
	if err := s.env.Client.Delete(s.t.Context(), &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) alterStatus(key types.NamespacedName, change func(*thing.Thing)) {
	s.t.Helper()
	mg := &thing.Thing{}
	if err := s.env.Client.Get(s.t.Context(), key, mg); err != nil {
		s.t.Fatal(err)
	}
	change(mg)
	if err := s.env.Client.Status().Update(s.t.Context(), mg); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) patch(key types.NamespacedName, with string) {
	s.t.Helper()
	mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}
	if err := s.env.Client.Patch(s.t.Context(), mg, client.RawPatch(types.MergePatchType, []byte(with))); err != nil {
		s.t.Fatal(err)
	}
}

// A creation whose result was lost has one once the resource is seen, so that others can refer to the object.
func TestFoundCreationIsRecorded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*thing.System){
		"without labels (N36, N5, R79)": func(sys *thing.System) { sys.Unlabelled = true },
		"with labels (N36, N5, R79)":    func(*thing.System) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			change(s.system)
			s.failOnce("Create", nil, io.ErrUnexpectedEOF)
			s.pass()
			s.pass()
			mg := s.thing()
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || meta.ExternalCreateUnacknowledged(mg) {
				t.Errorf("the user sees %s, annotations %v", got, mg.Annotations)
			}
			writes := s.countWrites()
			s.pass()
			if len(*writes) != 0 {
				t.Errorf("writes %v (N13)", *writes)
			}
		})
	}
}
