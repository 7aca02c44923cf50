// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Nobody waits for a timer: whatever a claim waits for wakes it.
func TestWakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(setUp)

	t.Run("a class that appears (R276)", func(t *testing.T) {
		w.create(w.newClaim("orders", nil))
		w.shows("orders", xpv1.ReasonClassNotFound)
		w.hold(true)
		w.create(w.limited(1))
		w.shows("orders", xpv1.ReasonBinding)
	})
	t.Run("its managed resource (R254, R269)", func(t *testing.T) {
		w.hold(false)
		w.shows("orders", xpv1.ReasonAvailable)
		w.agreed("orders-connection", w.claimOf("orders"), w.item())
	})
	w.wakesByPlaces(t)
	t.Run("a managed resource that appears, and agrees (R275, N27)", func(t *testing.T) {
		item := w.labelled("legacy", nil)
		w.create(w.newClaim("static", w.static(item.Name)))
		w.shows("static", xpv1.ReasonBinding)
		w.create(item)
		w.shows("static", xpv1.ReasonNotAllowed)
		w.mend(item, func() { item.Annotations[meta.AnnotationKeyAllowedNamespaces] = w.env.Namespace })
		w.shows("static", xpv1.ReasonAvailable)
	})
	t.Run("a Secret in the way that goes (R278)", func(t *testing.T) {
		secret := w.connectionSecret("renamed")
		w.create(secret)
		claim := w.claimOf("orders")
		w.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		w.shows("orders", xpv1.ReasonBinding)
		w.delete(secret)
		w.shows("orders", xpv1.ReasonAvailable)
	})
	t.Run("a managed resource that is lost (R280)", func(t *testing.T) {
		item := &shop.Item{}
		w.get(w.claimOf("orders").Spec.ResourceReference.Name, item)
		w.delete(item)
		w.shows("orders", xpv1.ReasonResourceLost)
	})
}

// wakesByPlaces is about the places of a class with the limit 1.
func (w *world) wakesByPlaces(t *testing.T) {
	t.Helper()
	t.Run("a limit that is raised (N10)", func(t *testing.T) {
		w.create(w.newClaim("second", nil))
		w.shows("second", xpv1.ReasonLimitReached)
		class := w.newClass(nil)
		w.edit(class, func() { class.SpecTemplate.Claims.Max = new(int64(2)) })
		w.shows("second", xpv1.ReasonAvailable)
	})
	t.Run("another claim that goes (N10, R279)", func(t *testing.T) {
		w.create(w.newClaim("third", nil))
		w.shows("third", xpv1.ReasonLimitReached)
		w.delete(w.claimOf("second"))
		w.shows("third", xpv1.ReasonAvailable)
	})
	t.Run("another claim that somebody tears away (N10)", func(t *testing.T) {
		w.create(w.newClaim("fourth", nil))
		w.shows("fourth", xpv1.ReasonLimitReached)
		third := w.claimOf("third")
		w.edit(third, func() { third.Finalizers = nil })
		w.delete(third)
		w.shows("fourth", xpv1.ReasonAvailable)
	})
	t.Run("what a claim left that an administrator takes back (N10, R279)", func(t *testing.T) {
		item := &shop.Item{}
		w.get(w.claimOf("fourth").Spec.ResourceReference.Name, item)
		w.mend(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
		w.create(w.newClaim("fifth", nil))
		w.shows("fifth", xpv1.ReasonLimitReached)
		fourth := w.claimOf("fourth")
		w.delete(fourth)
		w.gone(fourth)
		w.shows("fifth", xpv1.ReasonLimitReached)
		w.mend(item, func() { item.Spec.ClaimReference = nil })
		w.shows("fifth", xpv1.ReasonAvailable)
	})
}

// mend is edit against controllers that write too.
func (w *world) mend(item *shop.Item, change func()) {
	w.t.Helper()
	w.env.Eventually(w.t, "nobody writes to "+item.Name+" at the same time", func(ctx context.Context) error {
		if !w.get(item.Name, item) {
			return errors.New("it is gone")
		}
		change()
		return w.env.Client.Update(ctx, item)
	})
}

// A class may satisfy several claim kinds: their controllers share the managed kind, and each serves its own claims.
func TestTwoClaimKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(func(mgr manager.Manager, r *claimbinding.Reconciler) error {
		other := claimbinding.NewReconciler(mgr, resource.ClaimKind(shop.OtherClaimGroupVersionKind),
			resource.ClassKind(shop.ItemClassGroupVersionKind), resource.ManagedKind(shop.ItemGroupVersionKind),
			claimbinding.WithManagedConfigurators(claimbinding.ManagedConfiguratorFn(
				func(_ context.Context, _ resource.Claim, _ resource.Class, mg resource.Managed) error {
					mg.SetLabels(map[string]string{mine: w.env.Namespace})
					return nil
				})))
		return errors.Join(r.SetupWithManager(mgr), other.SetupWithManager(mgr))
	})
	t.Run("claims of the same name and different kinds get one managed resource each (R6, R281)", func(t *testing.T) {
		claim := w.newClaim("orders", nil)
		other := &shop.OtherClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.env.Namespace, Name: "orders"}}
		other.Spec.ResourceClaimSpec = *claim.Spec.ResourceClaimSpec.DeepCopy()
		other.Spec.WriteConnectionSecretToReference.Name = "other-connection"
		w.create(w.newClass(nil), claim, other)
		w.shows("orders", xpv1.ReasonAvailable)
		w.env.Eventually(t, "the other claim is bound", func(ctx context.Context) error {
			if err := w.env.Client.Get(ctx, w.key("orders"), other); err != nil {
				return err
			}
			if got := other.GetCondition(xpv1.TypeReady); got.Reason != xpv1.ReasonAvailable {
				return fmt.Errorf("it is %s: %s", got.Reason, got.Message)
			}
			return nil
		})
		of := map[types.UID]bool{}
		for _, item := range w.items() {
			of[item.Spec.ClaimReference.UID] = true
		}
		if len(w.items()) != 2 || !of[w.claimOf("orders").UID] || !of[other.UID] {
			t.Errorf("%d managed resources, of %v", len(w.items()), of)
		}
		w.delete(other)
		w.gone(other)
		w.shows("orders", xpv1.ReasonAvailable)
	})
}

// On a cache that lags behind, with several workers and processes that come and go, each claim gets one managed resource.
func TestMany(t *testing.T) {
	t.Parallel()
	t.Run("as many managed resources as claims (N11, R268, R274)", func(t *testing.T) {
		t.Parallel()
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
		for i := range claims {
			w.shows(fmt.Sprintf("claim-%d", i), xpv1.ReasonAvailable)
		}
		seen := map[string]bool{}
		for _, item := range w.items() {
			ref := item.Spec.ClaimReference
			claim := w.claimOf(ref.Name)
			if seen[ref.Name] || claim.UID != ref.UID || claim.Spec.ResourceReference.Name != item.Name {
				t.Errorf("%s and %s do not name each other alone", item.Name, ref.Name)
			}
			seen[ref.Name] = true
			if got := w.secret(ref.Name + "-connection")["password"]; got != "of "+item.Name {
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

// What binding costs, and that a bound claim costs nothing.
func TestRequestBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(w.newClass(nil))
	w.hold(true)
	w.start(setUp)
	w.create(w.newClaim("orders", nil))
	w.shows("orders", xpv1.ReasonBinding)
	w.hold(false)
	w.shows("orders", xpv1.ReasonAvailable)
	t.Run("looking again writes nothing (N13, R226)", func(t *testing.T) {
		w.takeWrites()
		claim := w.claimOf("orders")
		for i := range 5 { // each makes a pass over both
			w.edit(claim, func() { claim.Labels = map[string]string{"edited": fmt.Sprint(i)} })
		}
		quiet := time.After(time.Second) // there is no sign of a pass that does nothing
		<-quiet
		if writes := w.takeWrites(); len(writes) > 0 {
			t.Errorf("it wrote %v", writes)
		}
	})
}
