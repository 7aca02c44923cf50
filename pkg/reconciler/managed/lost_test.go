// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// editSecret changes the connection Secret as a person does; nil deletes it.
func (s *stage) editSecret(change func(*corev1.Secret)) {
	s.t.Helper()
	secret := &corev1.Secret{}
	err := s.env.Client.Get(s.t.Context(), s.secret, secret)
	if err == nil && change == nil {
		err = s.env.Client.Delete(s.t.Context(), secret)
	} else if err == nil {
		change(secret)
		err = s.env.Client.Update(s.t.Context(), secret)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// move has the Thing name another Secret, in a namespace of its own.
func (s *stage) move() {
	s.t.Helper()
	s.secret = types.NamespacedName{Namespace: controlplanetest.NewWithScheme(s.t, newScheme(s.t)).Namespace, Name: "moved"}
	s.edit(func(mg *thing.Thing) {
		mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.secret.Namespace, Name: s.secret.Name}
	})
}

// Connection details that people delete, or leave behind in another Secret, are reported, and nothing else happens.
func TestLostDetails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*thing.System)
		lose   func(*stage)
		resets bool // the process starts anew
	}{
		"the Secret is deleted (R208, N22)":                       {lose: func(s *stage) { s.editSecret(nil) }},
		"the Secret is deleted while no process runs (N22)":       {lose: func(s *stage) { s.editSecret(nil) }, resets: true},
		"the key is deleted (R208, N22)":                          {lose: func(s *stage) { s.editSecret(func(secret *corev1.Secret) { delete(secret.Data, "password") }) }},
		"the object names another Secret (P65, N22)":              {lose: (*stage).move},
		"the object names another Secret after a restart (P65)":   {lose: (*stage).move, resets: true},
		"a client that chooses passwords sets no other one (P65)": {change: func(s *thing.System) { s.Chooses = true }, lose: func(s *stage) { s.editSecret(nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			if tc.change != nil {
				tc.change(s.system)
			}
			s.settled()
			s.events.Take()
			tc.lose(s)
			if tc.resets {
				s.restart(s.env.Config)
			}
			s.system.TakeCalls()
			before := s.system.Snapshot()
			for range 2 {
				s.pass()
				got := xpv1.FailureOf(s.thing())
				if want := (xpv1.CurrentFailure{Reason: failure.ConnectionDetailsLost, Stalled: true}); got != want || s.state() != "Ready=Available Synced=ReconcileError" {
					t.Errorf("the user sees %s, %+v", s.state(), got)
				}
				s.wantMessage(s.secret.String(), "password", connection.AnnotationKeyCreatedKeys)
			}
			if diff := cmp.Diff([]event.Reason{managed.ReasonDetailsLost}, s.events.Take()); diff != "" {
				t.Errorf("events -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, s.system.Snapshot()); diff != "" || s.system.Called("Update")+s.system.Called("Create") > 0 {
				t.Errorf("the external resource -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(map[string]string{"endpoint": "there"}, s.connection()); diff != "" {
				t.Errorf("the Secret -want +got:\n%s", diff)
			}
		})
	}
}

// watchSecrets replaces the reconciler by one that watches the Secrets of the stage, while the test makes the passes. enqueued
// waits until the Thing is enqueued.
func (s *stage) watchSecrets() (enqueued func()) {
	s.t.Helper()
	mgr := byHand(s.t, s.env.Config, cache.Options{DefaultNamespaces: map[string]cache.Config{s.env.Namespace: {}}})
	s.reconciler = managed.NewReconciler(mgr, resource.ManagedKind(thing.GroupVersionKind), s.options...)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	s.t.Cleanup(queue.ShutDown)
	if err := s.reconciler.Wakeups().Start(s.t.Context(), queue); err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = mgr.GetCache().Start(s.t.Context()) }()
	if !mgr.GetCache().WaitForCacheSync(s.t.Context()) { // a change before that is no event
		s.t.Fatal("the cache does not start")
	}
	return func() {
		s.t.Helper()
		defer time.AfterFunc(30*time.Second, queue.ShutDown).Stop()
		for {
			req, down := queue.Get()
			if down {
				s.t.Fatal("the Thing is not enqueued")
			}
			queue.Done(req)
			if req.NamespacedName == s.key {
				return
			}
		}
	}
}

// An object whose connection Secret loses something is enqueued at once. What Observe reports is published again, and nothing else.
func TestLostDetailsAreNoticedAtOnce(t *testing.T) {
	t.Parallel()
	observed := map[string]string{"endpoint": "there"}
	const lost = failure.ConnectionDetailsLost
	for name, tc := range map[string]struct {
		lose   func(*corev1.Secret)
		want   map[string]string
		reason failure.Reason
	}{
		"the Secret is deleted (R208, N22)": {want: observed, reason: lost},
		"a key of the creation is deleted (R208, N22)": {want: observed, reason: lost,
			lose: func(secret *corev1.Secret) { delete(secret.Data, "password") }},
		"a key that Observe reports is deleted (R208)": {want: map[string]string{"endpoint": "there", "password": "password-1"},
			lose: func(secret *corev1.Secret) { delete(secret.Data, "endpoint") }},
		"the Secret loses its owner (R214)": {want: map[string]string{"endpoint": "there", "password": "password-1"},
			reason: failure.ConnectionSecretUnavailable, lose: func(secret *corev1.Secret) { secret.OwnerReferences = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.settled()
			enqueued := s.watchSecrets()
			s.pass()
			s.editSecret(tc.lose)
			enqueued()
			if _, err := s.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.connection()); diff != "" {
				t.Errorf("the Secret -want +got:\n%s", diff)
			}
			if got := xpv1.FailureOf(s.thing()).Reason; got != tc.reason {
				t.Errorf("the user sees reason %q, want %q: %s", got, tc.reason, s.message())
			}
		})
	}
}

// What people do about lost connection details.
func TestLostDetailsResolved(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*stage){
		"they add them (R208, N22)": func(s *stage) {
			s.editSecret(func(secret *corev1.Secret) { secret.Data["password"] = []byte("password-1") })
		},
		"they do without them (R208, N22)": func(s *stage) { s.annotate(connection.AnnotationKeyCreatedKeys, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.settled()
			s.editSecret(nil)
			s.pass()
			act(s)
			s.pass()
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || xpv1.FailureOf(s.thing()).Reason != "" {
				t.Errorf("the user sees %s: %s", got, s.message())
			}
		})
	}
}

// Which keys the creation returned.
func TestCreatedKeys(t *testing.T) {
	t.Parallel()
	t.Run("none where no Secret is wanted (R208, N22)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = nil })
		s.pass()
		if got, ok := s.thing().Annotations[connection.AnnotationKeyCreatedKeys]; ok {
			t.Errorf("keys %q are remembered", got)
		}
	})
	t.Run("those that a process stored before it was cut off (R208, N22)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.settled()
		s.edit(func(mg *thing.Thing) { // as it was before the result was recorded
			delete(mg.Annotations, connection.AnnotationKeyCreatedKeys)
			delete(mg.Annotations, "crossplane.io/external-create-succeeded")
		})
		s.restart(s.env.Config)
		s.pass()
		if got := s.thing().Annotations[connection.AnnotationKeyCreatedKeys]; got != "endpoint,password" {
			t.Errorf("keys %q are remembered", got)
		}
	})
}
