// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// watch replaces the reconciler by one that remembers nothing and watches the secrets of the stage, while passes are still made by
// hand. woken waits until the watch has woken the Thing.
func (s *stage) watch(config *rest.Config) (woken func()) {
	s.t.Helper()
	mgr := byHand(s.t, config, cache.Options{DefaultNamespaces: map[string]cache.Config{s.env.Namespace: {}}})
	s.reconciler = managed.NewReconciler(mgr, resource.ManagedKind(thing.GroupVersionKind), s.options...)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	if err := s.reconciler.Wakeups().Start(s.t.Context(), queue); err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = mgr.GetCache().Start(s.t.Context()) }()
	if !mgr.GetCache().WaitForCacheSync(s.t.Context()) {
		s.t.Fatal("the watch does not begin")
	}
	return func() {
		defer time.AfterFunc(30*time.Second, queue.ShutDown).Stop()
		for {
			req, down := queue.Get()
			queue.Done(req)
			if down {
				s.t.Error("nobody woke the Thing")
			}
			if down || req.NamespacedName == s.key {
				return
			}
		}
	}
}

// wantBack makes a pass, after which all is published and well.
func (s *stage) wantBack(want map[string]string) {
	s.t.Helper()
	s.pass()
	if diff := cmp.Diff(want, s.connection()); diff != "" {
		s.t.Errorf("-want +got:\n%s", diff)
	}
	if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
		s.t.Errorf("the user sees %s: %s", got, s.message())
	}
}

// Connection details that are lost under the eyes of a process come back.
func TestLostUnderWatch(t *testing.T) {
	t.Parallel()
	created := map[string]string{"endpoint": "there", "password": "password-1"}
	for name, tc := range map[string]struct {
		before, lose, after func(*corev1.Secret)
		without             bool // the note of what the creation told
		want                map[string]string
	}{
		"R208 N22 deleted before the first look at the object": {want: created},
		"R208 N22 keys of the creation taken away, and others": {want: created,
			before: func(secret *corev1.Secret) { secret.Data["own"] = []byte("of somebody") },
			lose:   func(secret *corev1.Secret) { clear(secret.Data) },
			after:  func(*corev1.Secret) {}},
		"R208 N22 taken from the object": {want: created, lose: func(secret *corev1.Secret) { secret.OwnerReferences = nil }},
		"R208 N22 but not for who does without": {want: map[string]string{"endpoint": "there"}, without: true,
			lose:  func(secret *corev1.Secret) { delete(secret.Data, "password") },
			after: func(*corev1.Secret) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.settled()
			if tc.without {
				s.annotate(managed.AnnotationKeyCreatedKeys, "")
			}
			if tc.before != nil {
				s.editSecret(tc.before)
			}
			woken := s.watch(s.env.Config)
			s.editSecret(tc.lose)
			woken()
			if tc.lose != nil {
				s.editSecret(tc.after)
			}
			s.wantBack(tc.want)
		})
	}
}

// So do those that are lost while a pass is under way, whatever it knew of them.
func TestLostMidway(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		verb  string
		token string // that the update tells
		forge bool   // somebody publishes without
		want  map[string]string
	}{
		"R208 N22 before it publishes": {verb: "Observe", want: map[string]string{"endpoint": "there", "password": "password-1"}},
		"R208 N22 and somebody else publishes": {verb: "Observe", forge: true,
			want: map[string]string{"endpoint": "there", "password": "password-1"}},
		"R208 N22 before it publishes nothing new": {verb: "Update", want: map[string]string{"endpoint": "there", "password": "password-1"}},
		"R208 N22 before an update publishes": {verb: "Update", token: "new",
			want: map[string]string{"endpoint": "there", "password": "password-1", "token": "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.through(altering{updated: func(_ *thing.Thing, u *managed.ExternalUpdate) {
				if tc.token != "" {
					u.ConnectionDetails = managed.ConnectionDetails{"token": []byte(tc.token)}
				}
			}})
			s.settled()
			woken := s.watch(s.env.Config)
			s.pass()
			s.resize(2)
			s.during(tc.verb, sync.OnceFunc(func() {
				s.editSecret(nil)
				woken()
				if tc.forge {
					s.publishOnly("endpoint", "there")
				}
			}))
			s.pass()
			s.wantBack(tc.want)
		})
	}
	t.Run("R208 N22 before an update publishes, and no watch tells", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.settled()
		s.through(altering{updated: func(_ *thing.Thing, u *managed.ExternalUpdate) {
			s.editSecret(nil)
			u.ConnectionDetails = managed.ConnectionDetails{"token": []byte("new")}
		}})
		s.resize(2)
		s.wantBack(map[string]string{"endpoint": "there", "password": "password-1", "token": "new"})
	})
}

// publishOnly makes a connection secret that has one key.
func (s *stage) publishOnly(key, value string) {
	secret := &corev1.Secret{Type: xpv1.SecretTypeConnection, Data: map[string][]byte{key: []byte(value)}}
	secret.Namespace, secret.Name, secret.OwnerReferences = s.secret.Namespace, s.secret.Name, s.owned()
	if err := s.env.Client.Create(s.t.Context(), secret); err != nil {
		s.t.Error(err)
	}
}

// A client that chooses passwords chooses no other in place of one that will be published again.
func TestLostChosen(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"P65 N22 lost before the pass publishes": false, "P65 N22 lost after it had nothing to publish": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.system.Chooses = true
			s.settled()
			var woken func()
			lose, config := sync.OnceFunc(func() { s.editSecret(nil); woken() }), s.env.Config
			if late {
				s.through(altering{observed: func(mg *thing.Thing, o *managed.ExternalObservation) {
					o.ConnectionDetails, o.ResourceLateInitialized = nil, true
					mg.Spec.ForProvider.Tags = map[string]string{"by": "vendor"}
				}})
				config = fault.InterceptWrites(config, func(string) (refuse, lost error) { lose(); return nil, nil })
			} else {
				s.during("Observe", lose)
			}
			woken = s.watch(config)
			s.system.TakeCalls()
			s.pass()
			if s.system.Called("Update") > 0 {
				t.Error("another password is set")
			}
			s.wantBack(map[string]string{"endpoint": "there", "password": "chosen"})
		})
	}
}
