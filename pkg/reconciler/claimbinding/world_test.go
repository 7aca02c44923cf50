// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// mine marks the items of one test among those of others on the shared server.
const mine = "claimbinding.test/of"

// A world is a stage on which controllers run as in a provider: on a cache, woken by watches, with the managed reconciler and an
// external system beside them.
type world struct {
	*stage
	shelf *shelf
	user  string // as whom the controllers run; empty for the administrator

	mu     sync.Mutex
	writes []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{stage: newStage(t), shelf: &shelf{items: map[string]string{}}}
	w.options = []claimbinding.ReconcilerOption{
		claimbinding.WithRecorder(w.events),
		claimbinding.WithPollInterval(time.Hour), // only what is woken comes back
		claimbinding.WithManagedConfigurators(
			claimbinding.ManagedConfiguratorFn(configureItem), claimbinding.NewObjectMetaConfigurator(newScheme(t)),
			claimbinding.ManagedConfiguratorFn(func(_ context.Context, _ resource.Claim, _ resource.Class, mg resource.Managed) error {
				mg.SetLabels(map[string]string{mine: w.env.Namespace})
				return nil
			})),
	}
	return w
}

// start runs the controllers until the test ends or somebody calls stop.
func (w *world) start(setup func(manager.Manager, *claimbinding.Reconciler) error) (stop func()) {
	w.t.Helper()
	rc := fault.InterceptWrites(w.env.Config, func(request string) (error, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.writes = append(w.writes, request)
		return nil, nil
	})
	rc.Impersonate.UserName = w.user
	options := manager.Options{Scheme: newScheme(w.t), Cache: managed.CacheOptions()}
	options.Cache.DefaultNamespaces = map[string]cache.Config{w.env.Namespace: {}}
	options.Cache.ByObject[&shop.Item{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{mine: w.env.Namespace})}
	return controlplanetest.RunManager(w.t, rc, options, func(mgr manager.Manager) error {
		r := managed.NewReconciler(mgr, resource.ManagedKind(shop.ItemGroupVersionKind),
			managed.WithTypedExternalConnecter[*shop.Item](w.shelf), managed.WithPollInterval(200*time.Millisecond))
		err := ctrl.NewControllerManagedBy(mgr).Named(managed.ControllerName(shop.ItemGroupVersionKind.GroupKind())).
			For(&shop.Item{}).WatchesRawSource(r.Wakeups()).Complete(r)
		if err != nil {
			return err
		}
		return setup(mgr, claimbinding.NewReconciler(mgr, resource.ClaimKind(shop.ItemClaimGroupVersionKind),
			resource.ClassKind(shop.ItemClassGroupVersionKind), resource.ManagedKind(shop.ItemGroupVersionKind), w.options...))
	})
}

func setUp(mgr manager.Manager, r *claimbinding.Reconciler) error { return r.SetupWithManager(mgr) }

// takeWrites returns the writes so far that are no events, and forgets them.
func (w *world) takeWrites() (writes []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, request := range w.writes {
		if !strings.HasSuffix(request, "/events") {
			writes = append(writes, request)
		}
	}
	w.writes = nil
	return writes
}

// shows waits until a claim has a condition Ready of the reason.
func (w *world) shows(claim string, ready xpv1.ConditionReason) {
	w.t.Helper()
	w.env.Eventually(w.t, fmt.Sprintf("claim %s is %s", claim, ready), func(ctx context.Context) error {
		c := &shop.ItemClaim{}
		if err := w.env.Client.Get(ctx, w.key(claim), c); err != nil {
			return err
		}
		if got := c.GetCondition(xpv1.TypeReady); got.Reason != ready {
			return fmt.Errorf("it is %s: %s", got.Reason, got.Message)
		}
		return nil
	})
}

func (w *world) gone(o client.Object) {
	w.t.Helper()
	w.env.Eventually(w.t, o.GetName()+" is gone", func(ctx context.Context) error {
		err := w.env.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			return fmt.Errorf("it is there, with finalizers %v", o.GetFinalizers())
		}
		return client.IgnoreNotFound(err)
	})
}

// hold keeps what the shelf is asked for from becoming ready.
func (w *world) hold(held bool) {
	w.shelf.mu.Lock()
	defer w.shelf.mu.Unlock()
	w.shelf.held = held
}

// shelf is an external system in memory: items by the UID of the managed resource, each with its password.
type shelf struct {
	mu    sync.Mutex
	held  bool
	once  bool // passwords are told at creation only
	items map[string]string
}

func (s *shelf) Connect(context.Context, *shop.Item) (managed.TypedExternalClient[*shop.Item], error) {
	return s, nil
}

func (s *shelf) Observe(_ context.Context, item *shop.Item) (managed.ExternalObservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	password, exists := s.items[string(item.UID)]
	if !exists {
		return managed.ExternalObservation{}, nil
	}
	if s.held {
		item.SetConditions(xpv1.Creating())
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	item.SetConditions(xpv1.Available())
	resource.SetBindable(item)
	o := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true,
		ConnectionDetails: managed.ConnectionDetails{"password": []byte(password)}}
	if s.once {
		o.ConnectionDetails = managed.ConnectionDetails{"endpoint": []byte("there")}
	}
	return o, nil
}

func (s *shelf) Create(_ context.Context, item *shop.Item) (managed.ExternalCreation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[string(item.UID)] = "of " + item.Name
	if s.once {
		return managed.ExternalCreation{ConnectionDetails: managed.ConnectionDetails{"password": []byte("of " + item.Name)}}, nil
	}
	return managed.ExternalCreation{}, nil
}

func (*shelf) Update(context.Context, *shop.Item) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, nil
}

func (s *shelf) Delete(_ context.Context, item *shop.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, string(item.UID))
	return nil
}

// count is how many items there are.
func (s *shelf) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// labelled makes an item that this test's controllers see.
func (w *world) labelled(name string, change func(*shop.Item)) *shop.Item {
	return w.newItem(name, func(item *shop.Item) {
		if change != nil {
			change(item)
		}
		item.Labels = map[string]string{mine: w.env.Namespace}
	})
}

// connectionSecret is one that is nobody's.
func (w *world) connectionSecret(name string) *corev1.Secret {
	secret := &corev1.Secret{Type: xpv1.SecretTypeConnection}
	secret.Namespace, secret.Name = w.env.Namespace, name
	return secret
}
