// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// mine marks the objects of one test among those of others on the shared server.
const mine = "reconciler.test/of"

// A world is a stage on which controllers run as in a provider: on a cache, woken by watches, with the managed reconciler and an
// external system beside them.
type world struct {
	*claimStage
	shelf  *shelf
	access *rest.Config
	mark   claimbinding.ManagedConfigurator
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{claimStage: newClaimStage(t), shelf: &shelf{items: map[string]string{}}}
	w.access = w.stage.access()
	w.mark = claimbinding.ManagedConfiguratorFn(func(_ context.Context, _ resource.Claim, _ resource.Class, mg resource.Managed) error {
		mg.SetLabels(map[string]string{mine: w.Namespace})
		return nil
	})
	w.options = append(w.options, claimbinding.WithManagedConfigurators(claimbinding.ManagedConfiguratorFn(configureItem),
		claimbinding.NewObjectMetaConfigurator(scheme()), w.mark))
	return w
}

// start runs the controllers until the test ends or stop is called.
func (w *world) start(setup func(manager.Manager, *claimbinding.Reconciler) error) (stop func()) {
	w.t.Helper()
	options := manager.Options{Scheme: scheme(), Cache: managed.CacheOptions()}
	options.Cache.DefaultNamespaces = map[string]cache.Config{w.Namespace: {}}
	options.Cache.ByObject[&shop.Item{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{mine: w.Namespace})}
	return controlplanetest.RunManager(w.t, w.access, options, func(mgr manager.Manager) error {
		r := managed.NewReconciler(mgr, items, managed.WithTypedExternalConnecter[*shop.Item](w.shelf),
			managed.WithPollInterval(200*time.Millisecond))
		err := ctrl.NewControllerManagedBy(mgr).Named(managed.ControllerName(shop.ItemGroupVersionKind.GroupKind())).
			For(&shop.Item{}).WatchesRawSource(r.Wakeups()).Complete(r)
		if err != nil {
			return err
		}
		return setup(mgr, claimbinding.NewReconciler(mgr, itemClaims, itemClass, items, w.options...))
	})
}

func setUp(mgr manager.Manager, r *claimbinding.Reconciler) error { return r.SetupWithManager(mgr) }

// shown waits until a claim has a condition Ready of the reason.
func (w *world) shown(claim string, ready xpv1.ConditionReason) {
	w.t.Helper()
	w.shows(w.newClaim(claim, nil), ready)
}

// resourceOf is the item that a claim names.
func (w *world) resourceOf(claim string) *shop.Item {
	w.t.Helper()
	item := &shop.Item{}
	w.get(w.claimOf(claim).Spec.ResourceReference.Name, item)
	return item
}

// shelf is an external system in memory: items by the UID of the managed resource, each with its password.
type shelf struct {
	mu    sync.Mutex
	held  bool // nothing becomes ready
	once  bool // passwords are returned at creation only
	items map[string]string
}

func (s *shelf) Connect(context.Context, *shop.Item) (managed.TypedExternalClient[*shop.Item], error) {
	return s, nil
}

func (s *shelf) Observe(_ context.Context, item *shop.Item) (managed.ExternalObservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	password, exists := s.items[string(item.UID)]
	o := managed.ExternalObservation{ResourceExists: exists, ResourceUpToDate: true}
	switch {
	case !exists:
	case s.held:
		item.SetConditions(xpv1.Creating())
	default:
		item.SetConditions(xpv1.Available())
		resource.SetBindable(item)
		o.ConnectionDetails = managed.ConnectionDetails{"password": []byte(password)}
		if s.once {
			o.ConnectionDetails = managed.ConnectionDetails{"endpoint": []byte("there")}
		}
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

func (s *shelf) hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

func (s *shelf) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// The permissions that binding needs are enough, here together with those of the managed reconciler.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := []string{"get", "list", "watch", "create", "patch", "delete"}
	w.access = w.as(
		rbacv1.PolicyRule{APIGroups: []string{shop.Group}, Resources: []string{"itemclaims", "itemclasses"}, Verbs: []string{"get", "list", "watch", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{shop.Group}, Resources: []string{"itemclaims/status", "items/status"}, Verbs: []string{"patch"}},
		rbacv1.PolicyRule{APIGroups: []string{shop.Group}, Resources: []string{"items"}, Verbs: all},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: all},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get", "create", "patch"}})
	w.start(setUp)
	t.Run("binding, another Secret, and release (R270, R279)", func(t *testing.T) {
		class := w.limited(1)
		class.SpecTemplate.Claims.NamespaceSelector = &metav1.LabelSelector{}
		w.create(class, w.newClaim("orders", nil))
		w.shown("orders", xpv1.ReasonAvailable)
		claim, item := w.claimOf("orders"), w.item()
		w.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		w.gone(w.connectionSecret("orders-connection", nil))
		w.shown("orders", xpv1.ReasonAvailable)
		w.delete(claim)
		w.gone(claim)
		w.gone(item)
	})
}

// No claim waits for a timer: everything that it waits for enqueues it.
func TestClaimWakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(setUp)
	steps := []wakeStep{
		{"a class that appears (R276)", func() {
			w.create(w.newClaim("orders", nil))
			w.shown("orders", xpv1.ReasonClassNotFound)
			w.shelf.hold(true)
			w.create(w.limited(1))
			w.shown("orders", xpv1.ReasonBinding)
		}},
		{"its managed resource (R254, R269)", func() {
			w.shelf.hold(false)
			w.shown("orders", xpv1.ReasonAvailable)
			w.isCopy("orders-connection", w.claimOf("orders"), w.item())
		}},
		{"a claim that no class is named by, and then one of this controller (R255)", func() {
			w.create(w.newClaim("late", func(c *shop.ItemClaim) { c.Spec.ClassReference = nil }))
			late := w.claimOf("late")
			w.edit(late, func() { late.Spec.ClassReference = reference(shop.ItemClassKind, w.class) })
			w.shown("late", xpv1.ReasonLimitReached)
			w.delete(late)
		}},
		{"a managed resource that appears, and consents (R275, N27)", func() {
			item := w.newItem("legacy", func(item *shop.Item) { item.Labels = map[string]string{mine: w.Namespace} })
			w.create(w.newClaim("static", static(item.Name)))
			w.shown("static", xpv1.ReasonBinding)
			w.create(item)
			w.shown("static", xpv1.ReasonNotAllowed)
			w.edit(item, func() { item.Annotations[meta.AnnotationKeyAllowedNamespaces] = w.Namespace })
			w.shown("static", xpv1.ReasonAvailable)
		}},
		{"a Secret of the name that is deleted (R278)", func() {
			secret, claim := w.connectionSecret("renamed", nil), w.claimOf("orders")
			w.create(secret)
			w.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
			w.shown("orders", failure.ConnectionSecretUnavailable)
			w.delete(secret)
			w.shown("orders", xpv1.ReasonAvailable)
		}},
		{"a managed resource that is lost (R280)", func() {
			w.delete(w.resourceOf("orders"))
			w.shown("orders", xpv1.ReasonResourceLost)
		}},
	}
	for _, step := range slices.Concat(steps[:3], w.placeSteps(), steps[3:]) {
		t.Run(step.name, func(*testing.T) { step.run() })
	}
}

// What is refused because of a namespace, a quota or a Secret that no cache holds is not waiting for a timer either.
func TestRefusedClaimsWake(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(w *world){
		"a label of the namespace (R276)": func(w *world) {
			class := w.newClass(func(c *shop.ItemClass) {
				c.SpecTemplate.Claims.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
			})
			w.create(class, w.newClaim("orders", nil))
			w.shown("orders", xpv1.ReasonNotAllowed)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
			w.edit(namespace, func() { metav1.SetMetaDataLabel(&namespace.ObjectMeta, "tier", "gold") })
			w.shown("orders", xpv1.ReasonAvailable)
		},
		"a quota that is raised (R270)": func(w *world) {
			w.create(w.newClass(nil), w.newClaim("orders", nil))
			w.shown("orders", xpv1.ReasonAvailable)
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "full"}}
			quota.Spec.Hard = corev1.ResourceList{"count/secrets": quantity.MustParse("0")}
			w.create(quota)
			w.Eventually(w.t, "the quota counts", func(ctx context.Context) error {
				if err := w.Client.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil || quota.Status.Used == nil {
					return fmt.Errorf("%v, %v", quota.Status, err)
				}
				return nil
			})
			w.delete(w.connectionSecret("orders-connection", nil))
			w.says("orders", "resource quota")
			w.edit(quota, func() { quota.Spec.Hard["count/secrets"] = quantity.MustParse("5") })
			w.shown("orders", xpv1.ReasonAvailable)
		},
		"labels of the class, which its selector no longer matches": func(w *world) {
			class := w.newClass(func(c *shop.ItemClass) { c.Labels = map[string]string{"tier": "gold"} })
			w.create(class, w.newClaim("orders", func(c *shop.ItemClaim) {
				c.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
			}))
			w.shown("orders", xpv1.ReasonAvailable)
			w.edit(class, func() { class.Labels["tier"] = "silver" })
			w.says("orders", "spec.classSelector does not match class")
			w.edit(class, func() { class.Labels["tier"] = "gold" })
			w.Eventually(w.t, "the remark ends", func(context.Context) error {
				if message := w.claimOf("orders").GetCondition(xpv1.TypeReady).Message; message != "" {
					return errors.New(message)
				}
				return nil
			})
		},
		"a Secret of another type that is deleted (R278, N30)": func(w *world) {
			secret := w.connectionSecret("orders-connection", nil)
			secret.Type = corev1.SecretTypeOpaque
			w.create(secret, w.newClass(nil), w.newClaim("orders", nil))
			w.says("orders", "exists and does not belong")
			w.delete(secret)
			w.shown("orders", xpv1.ReasonAvailable)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start(setUp)
			run(w)
		})
	}
}

// says waits until the message of condition Ready contains words.
func (w *world) says(claim, words string) {
	w.t.Helper()
	w.Eventually(w.t, fmt.Sprintf("claim %s says %q", claim, words), func(context.Context) error {
		if message := w.claimOf(claim).GetCondition(xpv1.TypeReady).Message; !strings.Contains(message, words) {
			return errors.New(message)
		}
		return nil
	})
}

// A wakeStep follows the steps before.
type wakeStep struct {
	name string
	run  func()
}

// placeSteps are about the places of a class with the limit 1, of which claim "orders" has one.
func (w *world) placeSteps() []wakeStep {
	return []wakeStep{
		{"a limit that is raised (N10)", func() {
			w.create(w.newClaim("second", nil))
			w.shown("second", xpv1.ReasonLimitReached)
			class := w.newClass(nil)
			w.edit(class, func() { class.SpecTemplate.Claims.Max = new(int64(2)) })
			w.shown("second", xpv1.ReasonAvailable)
		}},
		{"another claim that is deleted (N10, R279)", func() {
			w.create(w.newClaim("third", nil))
			w.shown("third", xpv1.ReasonLimitReached)
			w.delete(w.claimOf("second"))
			w.shown("third", xpv1.ReasonAvailable)
		}},
		{"another claim whose finalizer is removed by hand (N10, R268)", func() {
			w.create(w.newClaim("fourth", nil))
			w.shown("fourth", xpv1.ReasonLimitReached)
			w.tear("third")
			w.shown("fourth", xpv1.ReasonAvailable)
		}},
		{"what a claim left that an administrator takes back (N10, R279)", func() {
			item := w.resourceOf("fourth")
			w.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
			w.create(w.newClaim("fifth", nil))
			w.shown("fifth", xpv1.ReasonLimitReached)
			fourth := w.claimOf("fourth")
			w.delete(fourth)
			w.gone(fourth)
			w.shown("fifth", xpv1.ReasonLimitReached)
			w.edit(item, func() { item.Spec.ClaimReference = nil })
			w.shown("fifth", xpv1.ReasonAvailable)
		}},
		{"a protection that the platform team removes (N64)", func() {
			claim, item := w.claimOf("fifth"), w.resourceOf("fifth")
			w.protect(item)
			w.delete(claim)
			w.says("fifth", meta.AnnotationKeyProtect)
			w.edit(item, func() { delete(item.Annotations, meta.AnnotationKeyProtect) })
			w.gone(claim)
		}},
	}
}

// tear removes the finalizer of a claim, and deletes it.
func (s *claimStage) tear(claim string) {
	s.t.Helper()
	if err := testkit.Remove(s.t.Context(), s.Client, s.claimOf(claim)); err != nil {
		s.t.Fatal(err)
	}
}

// A class may satisfy several claim kinds: their controllers share the managed kind, and each serves its own claims.
func TestTwoClaimKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(func(mgr manager.Manager, r *claimbinding.Reconciler) error {
		other := claimbinding.NewReconciler(mgr, otherClaims, itemClass, items, claimbinding.WithManagedConfigurators(w.mark))
		return errors.Join(r.SetupWithManager(mgr), other.SetupWithManager(mgr))
	})
	t.Run("claims of the same name and different kinds get one managed resource each (R6, R281)", func(t *testing.T) {
		claim := w.newClaim("orders", nil)
		other := &shop.OtherClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "orders"}}
		other.Spec.ResourceClaimSpec = *claim.Spec.ResourceClaimSpec.DeepCopy()
		other.Spec.WriteConnectionSecretToReference.Name = "other-connection"
		w.create(w.newClass(nil), claim, other)
		w.shown("orders", xpv1.ReasonAvailable)
		w.shows(other, xpv1.ReasonAvailable)
		of := map[string]bool{}
		for _, item := range w.items() {
			of[string(item.Spec.ClaimReference.UID)] = true
		}
		if len(w.items()) != 2 || !of[string(claim.UID)] || !of[string(other.UID)] {
			t.Errorf("%d managed resources, of %v", len(w.items()), of)
		}
		w.delete(other)
		w.gone(other)
		w.shown("orders", xpv1.ReasonAvailable)
	})
}

// On a cache that lags behind, with several workers and processes that come and go, each claim gets one managed resource.
func TestManyClaims(t *testing.T) {
	t.Parallel()
	t.Run("as many managed resources as claims (N11, R268, R274)", func(t *testing.T) {
		const claims = 40
		w := newWorld(t)
		w.create(w.newClass(nil))
		stop := w.start(setUp)
		for i := range claims {
			w.create(w.newClaim(fmt.Sprintf("claim-%d", i), nil))
			if i%10 == 9 {
				stop()
				stop = w.start(setUp)
			}
		}
		testkit.Within(t, 3*time.Minute, "each claim has its external resource", func() error {
			if ready := w.shelf.count(); ready < claims {
				return fmt.Errorf("%d have", ready)
			}
			return nil
		})
		for i := range claims {
			w.shown(fmt.Sprintf("claim-%d", i), xpv1.ReasonAvailable)
		}
		seen := map[string]bool{}
		for _, item := range w.items() {
			ref := item.Spec.ClaimReference
			claim := w.claimOf(ref.Name)
			if seen[ref.Name] || claim.UID != ref.UID || claim.Spec.ResourceReference.Name != item.Name {
				t.Errorf("%s and %s do not name each other alone", item.Name, ref.Name)
			}
			seen[ref.Name] = true
			if got := w.text(ref.Name + "-connection")["password"]; got != "of "+item.Name {
				t.Errorf("the Secret of %s is %q", ref.Name, got)
			}
		}
		if len(seen) != claims || w.shelf.count() != claims {
			t.Errorf("%d managed resources for %d claims; %d on the shelf", len(seen), claims, w.shelf.count())
		}
		for i := range claims {
			w.delete(w.claimOf(fmt.Sprintf("claim-%d", i)))
		}
		for _, item := range w.items() {
			w.gone(&item)
		}
		if left := w.shelf.count(); left > 0 {
			t.Errorf("%d are left on the shelf", left)
		}
	})
}

// A bound claim costs no write.
func TestRequestBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(setUp)
	w.create(w.newClass(nil), w.newClaim("orders", nil))
	w.shown("orders", xpv1.ReasonAvailable)
	w.Eventually(t, "it is bound to the last event", func(context.Context) error {
		if did := w.take(writes); len(did) > 0 {
			return fmt.Errorf("it wrote %v", did)
		}
		return nil
	})
	t.Run("another pass writes nothing (N13, R226)", func(t *testing.T) {
		claim := w.claimOf("orders")
		for i := range 5 { // each makes a pass over both
			w.edit(claim, func() { claim.Labels = map[string]string{"edited": fmt.Sprint(i)} })
		}
		quiet := time.After(time.Second) // there is no sign of a pass that does nothing
		<-quiet
		if did := w.take(func(r string) bool { return writes(r) && !strings.HasSuffix(r, "/events") }); len(did) > 0 {
			t.Errorf("it wrote %v", did)
		}
	})
}
