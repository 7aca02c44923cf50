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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// What ends up in the connection secret, and what does not.
func TestPublishing(t *testing.T) {
	t.Parallel()
	created := map[string]string{"endpoint": "there", "password": "password-1"}
	cases := map[string]struct {
		act  func(*stage)
		want map[string]string
	}{
		"what Create and Observe tell (R206, R207, R217)": {act: (*stage).settled, want: created},
		"what changed is overwritten, the rest stays (R208)": {act: func(s *stage) { s.settled(); s.system.Endpoint = "elsewhere"; s.pass() },
			want: map[string]string{"endpoint": "elsewhere", "password": "password-1"}},
		"not what comes with an error of Observe (R218)": {want: created, act: func(s *stage) {
			s.settled()
			s.system.Endpoint = "elsewhere"
			s.failOnce("Observe", nil, errors.New("boom"))
			s.pass()
		}},
		"not what comes with an error of Create (R218)": {act: func(s *stage) { s.failOnce("Create", nil, errors.New("boom")); s.pass() }},
		"a creation that is repeated has no other password (R34, R219, N22)": {want: created, act: func(s *stage) {
			s.system.Replays = true
			s.failOnce("Create", nil, context.DeadlineExceeded)
			s.pass()
			s.restart(s.env.Config)
			s.pass()
			if n := s.system.Called("Create"); n != 2 {
				s.t.Errorf("Create was called %d times", n)
			}
		}},
		"creating anew replaces the password (R90, R208)": {want: map[string]string{"endpoint": "there", "password": "password-2"}, act: func(s *stage) {
			s.settled()
			s.system.Do(func(sys *thing.System) { clear(sys.Resources) })
			s.pass()
		}},
		"what Observe tells, though the update is refused (R206, R27)": {want: map[string]string{"endpoint": "elsewhere", "password": "password-1"},
			act: func(s *stage) {
				s.settled()
				s.resize(2)
				s.system.Endpoint = "elsewhere"
				s.failOnce("Update", errors.New("boom"), nil)
				s.pass()
			}},
		"nothing where nobody asked (R210)": {act: func(s *stage) {
			s.edit(func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = nil })
			s.pass()
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			tc.act(s)
			if diff := cmp.Diff(tc.want, s.connection()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("unchanged details are not written, nor by a new process (R220, N13)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		writes := s.countWrites()
		s.pass()
		if made, _ := s.take(writes); len(made) != 0 {
			t.Errorf("wrote %v", made)
		}
	})
	t.Run("the secret is the object's, and of our type (R213, R214)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		secret := &corev1.Secret{}
		if err := s.env.Client.Get(t.Context(), s.secret, secret); err != nil {
			t.Fatal(err)
		}
		owner := metav1.GetControllerOf(secret)
		if owner == nil || owner.UID != s.thing().UID || owner.Kind != "Thing" || secret.Type != "connection.crossplane.io/v1alpha1" {
			t.Errorf("type %s, controller %+v", secret.Type, owner)
		}
	})
}

// Details that only an update tells are stored before anything else may fail.
func TestDetailsOfUpdate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options []managed.ReconcilerOption
		created string // what the user sees of calls in the background then
	}{
		"within the pass (R208, N22, R217)": {created: " "},
		"in the background (R208, N22, R197)": {created: "Finished Success",
			options: []managed.ReconcilerOption{managed.WithBackgroundOperations(time.Minute)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, tc.options...)
			s.through(altering{updated: func(_ *thing.Thing, u *managed.ExternalUpdate) {
				u.ConnectionDetails = managed.ConnectionDetails{"token": []byte("told-once")}
			}})
			s.passUntil(tc.created)
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
			s.system.TakeCalls()
			s.system.Do(func(sys *thing.System) {
				sys.Fault = func(verb string) (error, error) {
					if verb == "Observe" && slices.Contains(sys.Calls, "Update") {
						return errors.New("the look afterwards fails"), nil
					}
					return nil, nil
				}
			})
			s.env.Eventually(t, "the look fails", func(context.Context) error {
				if _, err := s.tryPass(); err != nil || strings.Contains(s.message(), "the look afterwards fails") {
					return err
				}
				return errors.New("not yet")
			})
			want := map[string]string{"endpoint": "there", "password": "password-1", "token": "told-once"}
			if diff := cmp.Diff(want, s.connection()); diff != "" {
				t.Errorf("if the process dies now the secret holds -want +got:\n%s", diff)
			}
		})
	}
}

// A local stage is a namespaced Thing, and its namesake in another namespace that nobody reconciles.
type localStage struct {
	client.Client
	system     *thing.System
	reconciler *managed.Reconciler
	key        types.NamespacedName
	namesake   types.NamespacedName
}

func newLocalStage(t *testing.T) *localStage {
	t.Helper()
	if err := controlplanetest.Install(t.Context(), controlplanetest.Config(t), thing.LocalCRD()); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := thing.AddLocalToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	env, elsewhere := controlplanetest.NewWithScheme(t, scheme), controlplanetest.NewWithScheme(t, scheme)
	mgr := testkit.NewManager(t, env.Config, manager.Options{Scheme: scheme})
	s := &localStage{Client: env.Client, system: thing.NewSystem(),
		key:      types.NamespacedName{Namespace: env.Namespace, Name: "local"},
		namesake: types.NamespacedName{Namespace: elsewhere.Namespace, Name: "local"}}
	s.reconciler = managed.NewReconciler(mgr, resource.ManagedKind(thing.LocalGroupVersionKind),
		managed.WithTypedExternalConnecter[*thing.Thing](s.system))
	for _, key := range []types.NamespacedName{s.key, s.namesake} {
		mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		mg.Spec.ForProvider.Size = 1
		mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Name: "connection"}
		if err := s.Create(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *localStage) pass(t *testing.T) {
	t.Helper()
	req := reconcile.Request{NamespacedName: s.key}
	s.reconciler.Wake(req)
	if _, err := s.reconciler.Reconcile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

func TestNamespacedKind(t *testing.T) {
	t.Parallel()
	s := newLocalStage(t)
	mg, ctx := &thing.Thing{}, t.Context()
	t.Run("it is created, and its namesake is another object (N1, R50, R22)", func(t *testing.T) {
		s.pass(t)
		if err := s.Get(ctx, s.key, mg); err != nil || mg.GetCondition(xpv1.TypeReady).Reason != xpv1.ReasonAvailable {
			t.Errorf("conditions %+v, %v", mg.Status.Conditions, err)
		}
		other := &thing.Thing{}
		if err := s.Get(ctx, s.namesake, other); err != nil || len(other.Status.Conditions)+len(other.Finalizers) != 0 {
			t.Errorf("namesake %+v, %v", other, err)
		}
	})
	t.Run("its secret is in its own namespace (N2, R209)", func(t *testing.T) {
		secret := &corev1.Secret{}
		key := types.NamespacedName{Namespace: s.key.Namespace, Name: "connection"}
		if err := s.Get(ctx, key, secret); err != nil || string(secret.Data["password"]) != "password-1" || !metav1.IsControlledBy(secret, mg) {
			t.Errorf("secret %+v, %v", secret, err)
		}
	})
	t.Run("its events are in its own namespace (N1, R50, R204)", func(t *testing.T) {
		events := &corev1.EventList{}
		if err := s.List(ctx, events, client.InNamespace(s.key.Namespace)); err != nil || len(events.Items) != 1 {
			t.Errorf("events %+v, %v", events.Items, err)
		}
	})
	t.Run("it is deleted (N1, R50, R54)", func(t *testing.T) {
		if err := s.Client.Delete(ctx, mg); err != nil {
			t.Fatal(err)
		}
		s.pass(t)
		if err := s.Get(ctx, s.key, mg); client.IgnoreNotFound(err) != nil || err == nil || len(s.system.Snapshot()) != 0 {
			t.Errorf("resources %v, %v", s.system.Snapshot(), err)
		}
	})
}
