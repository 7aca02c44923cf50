// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A moment is something that happens to an object, and what follows.
type moment struct {
	name   string
	act    func()
	calls  []string
	state  string
	events []event.Reason
}

// The life of one object, step by step: what is called outside, what the user sees, which events there are.
func TestLife(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	for _, m := range life(s) {
		m.act()
		s.clock = s.clock.Add(time.Second)
		s.pass()
		if diff := cmp.Diff(m.calls, s.system.TakeCalls()); diff != "" {
			t.Errorf("%s: calls -want +got:\n%s", m.name, diff)
		}
		if got := s.state(); got != m.state {
			t.Errorf("%s: the user sees %s, want %s", m.name, got, m.state)
		}
		if diff := cmp.Diff(m.events, s.events.Take()); diff != "" {
			t.Errorf("%s: events -want +got:\n%s", m.name, diff)
		}
	}
}

func life(s *stage) []moment {
	return []moment{
		{
			name:   "a missing resource is created and looked at in the same pass (R22, R44, R63, R181)",
			act:    func() {},
			calls:  []string{"Connect", "Observe", "Create", "Observe"},
			state:  "Ready=Available Synced=ReconcileSuccess",
			events: []event.Reason{managed.ReasonCreated},
		},
		{
			name:  "what is as declared is only observed (R25, N13)",
			act:   func() {},
			calls: []string{"Connect", "Observe"},
			state: "Ready=Available Synced=ReconcileSuccess",
		},
		{
			name:   "a changed spec updates the resource (R24)",
			act:    func() { s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 }) },
			calls:  []string{"Connect", "Observe", "Update", "Observe"},
			state:  "Ready=Available Synced=ReconcileSuccess",
			events: []event.Reason{managed.ReasonUpdated},
		},
		{
			name: "a change made outside is reverted (R40)",
			act: func() {
				s.system.Do(func(sys *thing.System) {
					have := sys.Resources[s.key.Name]
					have.Size = 99
					sys.Resources[s.key.Name] = have
				})
			},
			calls:  []string{"Connect", "Observe", "Update", "Observe"},
			state:  "Ready=Available Synced=ReconcileSuccess",
			events: []event.Reason{managed.ReasonUpdated},
		},
		{
			name:   "a resource deleted outside is created anew, without grace once it was seen (R90)",
			act:    func() { s.system.Do(func(sys *thing.System) { clear(sys.Resources) }) },
			calls:  []string{"Connect", "Observe", "Create", "Observe"},
			state:  "Ready=Available Synced=ReconcileSuccess",
			events: []event.Reason{managed.ReasonCreated},
		},
		{
			name: "deletion begins outside while the object stays, and nothing is updated (R53, R61, R182)",
			act: func() {
				s.system.Do(func(sys *thing.System) { sys.SlowDelete = true })
				s.resize(100)
				s.delete()
			},
			calls:  []string{"Connect", "Observe", "Delete", "Observe"},
			state:  "Ready=Deleting Synced=ReconcileSuccess",
			events: []event.Reason{managed.ReasonDeleted},
		},
		{
			name:  "while the vendor is deleting it is asked again, without another event (R55)",
			act:   func() {},
			calls: []string{"Connect", "Observe", "Delete", "Observe"},
			state: "Ready=Deleting Synced=ReconcileSuccess",
		},
		{
			name:  "the object goes once the resource is gone, without grace (R54, N20)",
			act:   func() { s.system.Do(func(sys *thing.System) { clear(sys.Resources) }) },
			calls: []string{"Connect", "Observe"},
			state: "gone",
		},
	}
}

// What was seen once is deleted at once: no grace is left, though no time went by.
func TestYoungObjectIsDeletedAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("in one pass, within the grace period (N20, R54)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		s.delete()
		s.system.TakeCalls()
		s.pass()
		if diff := cmp.Diff([]string{"Connect", "Observe", "Delete", "Observe"}, s.system.TakeCalls()); diff != "" || s.state() != "gone" {
			t.Errorf("the user sees %s, calls -want +got:\n%s", s.state(), diff)
		}
	})
}

// Every verb that fails shows on the object, keeps the rest of its status, calls nothing further and is retried.
func TestErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		verb    string
		prepare func(*stage)
		calls   []string
		event   event.Reason
		ready   xpv1.ConditionReason
		message string
		size    int // in status.atProvider
	}{
		"Connect (R27, R185, R198)": {verb: "Connect", prepare: (*stage).settled, calls: []string{"Connect"}, event: managed.ReasonCannotConnect,
			ready: xpv1.ReasonAvailable, size: 1, message: "connecting to the provider: boom"},
		"Connect of a new object (R27)": {verb: "Connect", prepare: func(*stage) {}, calls: []string{"Connect"},
			event: managed.ReasonCannotConnect, message: "connecting to the provider: boom"},
		"Observe (R26, R185, R196, R198)": {verb: "Observe", prepare: (*stage).settled, calls: []string{"Connect", "Observe"},
			event: managed.ReasonCannotObserve, ready: xpv1.ReasonAvailable, size: 1, message: "observing the external resource: boom"},
		"Observe of a new object (R26)": {verb: "Observe", prepare: func(*stage) {}, calls: []string{"Connect", "Observe"},
			event: managed.ReasonCannotObserve, message: "observing the external resource: boom"},
		"Create (R33, R181, R185, R196)": {verb: "Create", prepare: func(*stage) {}, calls: []string{"Connect", "Observe", "Create"},
			event: managed.ReasonCannotCreate, ready: xpv1.ReasonCreating, message: "creating the external resource: boom"},
		"Update, with the latest status (R27, R178, R185, R196, R198)": {verb: "Update", prepare: func(s *stage) { s.settled(); s.resize(7) },
			calls: []string{"Connect", "Observe", "Update"}, event: managed.ReasonCannotUpdate, ready: xpv1.ReasonAvailable, size: 7,
			message: "updating the external resource: boom"},
		"Delete (R37, R60, R182, R185)": {verb: "Delete", prepare: func(s *stage) { s.settled(); s.delete() },
			calls: []string{"Connect", "Observe", "Delete"}, event: managed.ReasonCannotDelete, ready: xpv1.ReasonDeleting, size: 1,
			message: "deleting the external resource: boom"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			tc.prepare(s)
			s.system.TakeCalls()
			s.events.Take()
			writes := s.countWrites()
			s.system.Do(func(sys *thing.System) {
				sys.Fault = func(verb string) (error, error) {
					if verb == tc.verb {
						return errors.New("boom"), nil
					}
					return nil, nil
				}
			})
			first := s.pass()
			if diff := cmp.Diff(tc.calls, s.system.TakeCalls()); diff != "" {
				t.Errorf("calls -want +got:\n%s", diff)
			}
			mg := s.thing()
			if got := mg.GetCondition(xpv1.TypeSynced); got.Status != "False" || got.Reason != xpv1.ReasonReconcileError || got.Message != tc.message {
				t.Errorf("Synced %s %s: %s", got.Status, got.Reason, got.Message)
			}
			if got := mg.GetCondition(xpv1.TypeReady).Reason; got != tc.ready || mg.Status.AtProvider.Size != tc.size {
				t.Errorf("Ready %s, atProvider %+v", got, mg.Status.AtProvider)
			}
			if got := xpv1.FailureOf(mg); got.Reason == "" || got.Message != "" || got.Stalled {
				t.Errorf("the failure is %+v", got)
			}
			if n := len(slices.DeleteFunc(*writes, func(w string) bool { return !strings.HasSuffix(w, "/status") })); n != 1 {
				t.Errorf("the status was written %d times (R199)", n)
			}
			s.clock = s.clock.Add(time.Minute)
			if second := s.pass(); first <= 0 || second <= first {
				t.Errorf("delays should grow: %s, then %s", first, second)
			}
			if diff := cmp.Diff([]event.Reason{tc.event}, s.events.Take()); diff != "" {
				t.Errorf("the same failure is one event -want +got:\n%s", diff)
			}
			if after := s.thing().ResourceVersion; tc.verb != "Create" && after != mg.ResourceVersion {
				t.Error("the same failure again was written (N13)")
			}
			s.system.Do(func(sys *thing.System) { sys.Fault = nil })
			s.pass()
			if got := s.state(); got != "gone" && (got != "Ready=Available Synced=ReconcileSuccess" || xpv1.FailureOf(s.thing()).Reason != "") {
				t.Errorf("recovered, the user sees %s: %s (R95, R196, R200)", got, s.message())
			}
		})
	}
}

func TestFailedResource(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.system.Do(func(sys *thing.System) { sys.Failed = errors.New("no room left, buy a disk") })
	s.pass()
	s.wantMessage("no room left, buy a disk")
	if diff := cmp.Diff([]event.Reason{managed.ReasonCreated, managed.ReasonExternalFailed}, s.events.Take()); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}
	if s.connection() == nil {
		t.Error("what is known is published even where the resource failed")
	}
	s.delete()
	s.pass()
	if got := s.state(); got != "gone" {
		t.Errorf("a failed resource can be deleted, the user sees %s", got)
	}
}

func TestOrphan(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(mg *thing.Thing) { mg.Spec.DeletionPolicy = xpv1.DeletionOrphan })
	s.pass()
	s.delete()
	s.system.TakeCalls()
	s.pass()
	if calls := s.system.TakeCalls(); calls != nil || s.state() != "gone" || len(s.system.Snapshot()) != 1 {
		t.Errorf("the object goes and the resource stays: calls %v, user sees %s, resources %v (R57)", calls, s.state(), s.system.Snapshot())
	}
}

func TestConnectionSecret(t *testing.T) {
	t.Parallel()
	t.Run("details of Create and Observe are merged (R206, R207, R208, R213)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		s.clock = s.clock.Add(time.Minute)
		s.pass()
		want := map[string]string{"endpoint": "there", "password": "password-1"}
		if diff := cmp.Diff(want, s.connection()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		secret := &corev1.Secret{}
		if err := s.env.Client.Get(t.Context(), s.secret, secret); err != nil {
			t.Fatal(err)
		}
		if !metav1.IsControlledBy(secret, s.thing()) || secret.Type != xpv1.SecretTypeConnection {
			t.Errorf("the secret should be of type %s and belong to the object: %+v", xpv1.SecretTypeConnection, secret.ObjectMeta)
		}
	})
	t.Run("nothing is published where nobody asked (R210)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{} })
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s", got)
		}
	})
	t.Run("somebody else's secret is not overwritten (R214)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.secret.Namespace, Name: s.secret.Name}}
		if err := s.env.Client.Create(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		s.pass()
		s.wantMessage("does not belong to this object", "writeConnectionSecretToRef")
		if got := s.connection(); len(got) != 0 {
			t.Errorf("the secret now holds %v", got)
		}
		if err := s.env.Client.Delete(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		s.pass()
		want := map[string]string{"endpoint": "there", "password": "password-1"}
		if diff := cmp.Diff(want, s.connection()); diff != "" {
			t.Errorf("details that could not be published are kept until they can -want +got:\n%s", diff)
		}
	})
	t.Run("somebody else's secret does not hold up a deletion (N32)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) {
			mg.Finalizers = []string{managed.Finalizer}
			mg.Annotations = map[string]string{meta.AnnotationKeyExternalCreatePending: "2025-01-01T00:00:00Z"}
		})
		theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.secret.Namespace, Name: s.secret.Name}}
		if err := s.env.Client.Create(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		s.delete()
		s.pass()
		if got := s.state(); got != "gone" {
			t.Errorf("the user sees %s: %s", got, s.message())
		}
	})
}

// While the vendor deletes, polls write nothing and come more and more seldom, although each of them sees the resource
// as available first (N13, R195).
func TestSlowDeletion(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.pass()
	s.system.SlowDelete = true
	s.delete()
	s.clock = time.Now()
	s.pass()
	version := s.thing().ResourceVersion
	s.clock = s.clock.Add(20 * time.Second)
	if after := s.pass(); after < 5*time.Second || s.thing().ResourceVersion != version {
		t.Errorf("after 20 s comes back after %s; status written: %t", after, s.thing().ResourceVersion != version)
	}
}

// A process that stops in the middle of a call blames nobody.
func TestStopDuringCall(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.pass()
	s.events.Take()
	ctx, cancel := context.WithCancel(t.Context())
	s.system.Fault = func(string) (error, error) {
		cancel()
		return ctx.Err(), nil
	}
	req := reconcile.Request{NamespacedName: s.key}
	s.reconciler.Wake(req)
	if _, err := s.reconciler.Reconcile(ctx, req); err != nil {
		t.Error(err)
	}
	if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || s.events.Take() != nil {
		t.Errorf("the user sees %s", got)
	}
}

// A removed name is shown again (R63, R72).
func TestNameIsShownAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.pass()
	s.annotate(meta.AnnotationKeyExternalName, "")
	s.pass()
	if got := meta.GetExternalName(s.thing()); got != s.key.Name {
		t.Errorf("external name %q", got)
	}
}
