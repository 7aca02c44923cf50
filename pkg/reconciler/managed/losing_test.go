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

	"github.com/bowline-dev/bowline/pkg/internal/witness"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed/internal/thing"
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

// Connection details that are lost under the eyes of a process come back, whatever it is about to do.
func TestLostUnderWatch(t *testing.T) {
	t.Parallel()
	created := map[string]string{"endpoint": "there", "password": "password-1"}
	midway := func(s *stage) {
		woken := s.watch(s.env.Config)
		s.pass()
		s.during("Observe", sync.OnceFunc(func() { s.editSecret(nil); woken() }))
		s.system.TakeCalls()
		s.pass()
		if s.system.Called("Update") > 0 {
			s.t.Error("another password is set")
		}
	}
	afterLook := func(s *stage) {
		s.options = append(s.options, managed.WithTypedExternalConnecter[*thing.Thing](altering{System: s.system,
			observed: func(mg *thing.Thing, o *managed.ExternalObservation) {
				o.ConnectionDetails, o.ResourceLateInitialized = nil, true
				mg.Spec.ForProvider.Tags = map[string]string{"by": "vendor"}
			}}))
		var woken func()
		lose := sync.OnceFunc(func() { s.editSecret(nil); woken() })
		woken = s.watch(witness.Writes(s.env.Config, func(string) (refuse, lost error) { lose(); return nil, nil }))
		s.system.TakeCalls()
		s.pass()
		if s.system.Called("Update") > 0 {
			s.t.Error("another password is set")
		}
	}
	for name, tc := range map[string]struct {
		prepare func(*thing.System)
		lose    func(*stage)
		want    map[string]string
	}{
		"R208 N22 deleted before the first look at the object": {want: created, lose: func(s *stage) {
			woken := s.watch(s.env.Config)
			s.editSecret(nil)
			woken()
		}},
		"R208 N22 deleted while a pass is under way": {want: created, lose: midway},
		"P65 N22 deleted while a pass is under way, by a client that chooses passwords": {lose: midway,
			prepare: func(sys *thing.System) { sys.Chooses = true }, want: map[string]string{"endpoint": "there", "password": "chosen"}},
		"R208 N22 published without while a pass is under way": {want: created, lose: func(s *stage) {
			woken := s.watch(s.env.Config)
			s.pass()
			s.during("Observe", sync.OnceFunc(func() {
				s.editSecret(nil)
				woken()
				another := &corev1.Secret{Type: "connection.crossplane.io/v1alpha1", Data: map[string][]byte{"endpoint": []byte("there")}}
				another.Namespace, another.Name, another.OwnerReferences = s.secret.Namespace, s.secret.Name, s.owned()
				if err := s.env.Client.Create(s.t.Context(), another); err != nil {
					s.t.Error(err)
				}
			}))
			s.pass()
		}},
		"R208 N22 deleted before an update publishes": {want: map[string]string{"endpoint": "there", "password": "password-1", "token": "new"},
			lose: func(s *stage) {
				s.through(altering{updated: func(_ *thing.Thing, u *managed.ExternalUpdate) {
					s.editSecret(nil)
					u.ConnectionDetails = managed.ConnectionDetails{"token": []byte("new")}
				}})
				s.resize(2)
			}},
		"R208 N22 deleted by the time of an update that tells nothing new": {want: created, lose: func(s *stage) {
			woken := s.watch(s.env.Config)
			s.resize(2)
			s.during("Update", sync.OnceFunc(func() { s.editSecret(nil); woken() }))
			s.pass()
		}},
		"P65 N22 deleted after it was looked at, by a client that chooses passwords": {lose: afterLook,
			prepare: func(sys *thing.System) { sys.Chooses = true }, want: map[string]string{"endpoint": "there", "password": "chosen"}},
		"R208 N22 keys of the creation taken away, and others": {want: created, lose: func(s *stage) {
			s.editSecret(func(secret *corev1.Secret) { secret.Data["own"] = []byte("of somebody") })
			woken := s.watch(s.env.Config)
			s.editSecret(func(secret *corev1.Secret) { clear(secret.Data) })
			woken()
		}},
		"R208 N22 taken from the object": {want: created, lose: func(s *stage) {
			woken := s.watch(s.env.Config)
			s.editSecret(func(secret *corev1.Secret) { secret.OwnerReferences = nil })
			woken()
			s.editSecret(nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			if tc.prepare != nil {
				tc.prepare(s.system)
			}
			s.settled()
			tc.lose(s)
			s.pass()
			if diff := cmp.Diff(tc.want, s.connection()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
				t.Errorf("the user sees %s: %s", got, s.message())
			}
		})
	}
	t.Run("R208 N22 who does without a key takes it away for good", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.settled()
		s.annotate(managed.AnnotationKeyCreatedKeys, "")
		woken := s.watch(s.env.Config)
		s.editSecret(func(secret *corev1.Secret) { delete(secret.Data, "password") })
		woken()
		s.pass()
		if diff := cmp.Diff(map[string]string{"endpoint": "there"}, s.connection()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
