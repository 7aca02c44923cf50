// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// saysSynced checks the message of condition Synced.
func (s *stage) saysSynced(parts ...string) {
	s.t.Helper()
	said := s.claimOf(s.claim).GetCondition(xpv1.TypeSynced).Message
	for _, part := range parts {
		if !strings.Contains(said, part) {
			s.t.Errorf("condition Synced should say %q, it says %q", part, said)
		}
	}
}

// publishAnew replaces the item's connection Secret.
func (s *stage) publishAnew(item *shop.Item, data map[string]string) {
	s.t.Helper()
	source := &corev1.Secret{}
	s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
	s.delete(source)
	source.ObjectMeta = metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name, OwnerReferences: source.OwnerReferences}
	source.Data, source.StringData = nil, data
	s.create(source)
}

// lost puts on stage a claim whose copy alone has the password, since the source was published anew without.
func lost(t *testing.T, change func(*shop.ItemClaim)) (*stage, *shop.ItemClaim, *shop.Item) {
	t.Parallel()
	s := newStage(t)
	claim, item := s.bound(change)
	s.edit(item, func() { item.Annotations[managed.AnnotationKeyCreatedKeys] = "password" })
	s.publishAnew(item, map[string]string{"username": "root"})
	s.pass()
	return s, claim, item
}

// holds checks what the copy has.
func (s *stage) holds(want map[string]string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.secret("orders-connection")); diff != "" {
		s.t.Errorf("the copy, -want +got:\n%s", diff)
	}
}

// A source that was published anew without a key that only the creation returned takes nothing from the copy.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	t.Run("the copy stays as it is, and the claim reports it once (R270, N22, N42)", func(t *testing.T) {
		s, _, item := lost(t, func(c *shop.ItemClaim) {
			c.Annotations = map[string]string{connection.AnnotationKeyConnectionKeys: `{"LOGIN": "$(username):$(password)"}`}
		})
		for range 2 {
			s.holds(map[string]string{"username": "admin", "password": "hunter2", "LOGIN": "admin:hunter2"})
			s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
			s.saysSynced("lost password", `"orders-connection" stays`, "your platform team")
			s.wantFailure(failure.ConnectionDetailsLost, true)
			s.pass()
		}
		if diff := cmp.Diff([]event.Reason{claimbinding.ReasonBadConnectionKeys}, s.events.Take()); diff != "" {
			t.Errorf("events, -want +got:\n%s", diff)
		}
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		s.edit(source, func() { source.Data["password"] = []byte("hunter3") })
		s.pass()
		s.holds(map[string]string{"username": "root", "password": "hunter3", "LOGIN": "root:hunter3"})
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("nor does one from which a person removed the key (N22, N42)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		_, item := s.bound(nil)
		s.edit(item, func() { item.Annotations[managed.AnnotationKeyCreatedKeys] = "password" })
		source, frozen := &corev1.Secret{}, &corev1.Secret{}
		s.get("orders-connection", frozen)
		s.edit(frozen, func() { frozen.Immutable = new(true) }) // which the binder would create again
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		s.edit(source, func() { delete(source.Data, "password") })
		s.pass()
		s.holds(map[string]string{"username": "admin", "password": "hunter2"})
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
		s.saysSynced("lost password", `"orders-connection" stays`, "your platform team")
		s.edit(source, func() { source.Data["password"] = []byte("hunter3") })
		s.pass()
		s.holds(map[string]string{"username": "admin", "password": "hunter3"})
	})
	t.Run("who can do without deletes the copy (R270)", func(t *testing.T) {
		s, claim, item := lost(t, nil)
		s.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "orders-connection"}})
		s.pass()
		s.agreed("orders-connection", claim, item)
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
		s.saysSynced("lost password: ask your platform team")
	})
	t.Run("a key that the source lost otherwise is missed (R292, N22)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		_, item := s.bound(nil)
		s.edit(item, func() { item.Annotations[managed.AnnotationKeyCreatedKeys] = "password,token" })
		s.pass()
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
		s.saysSynced("lost token: ask your platform team")
	})
	t.Run("a copy of something else keeps nothing (R292, R289)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		forged := &corev1.Secret{}
		s.get("orders-connection", forged)
		s.edit(forged, func() {
			forged.Annotations[meta.AnnotationKeyPropagateFromName] = "another"
			forged.Data["more"] = []byte("forged")
		})
		s.pass()
		s.agreed("orders-connection", claim, item)
	})
}

// Nor does the claim, whatever it names.
func TestLostKeysAndNames(t *testing.T) {
	t.Parallel()
	t.Run("another name takes nothing away either (R278, N22)", func(t *testing.T) {
		s, claim, item := lost(t, nil)
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		s.pass()
		s.holds(map[string]string{"username": "admin", "password": "hunter2"})
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		s.edit(source, func() { source.Data["password"] = []byte("hunter3") })
		s.pass()
		if s.secret("orders-connection") != nil {
			t.Error("it is still there")
		}
	})
	for name, gone := range map[string]bool{"lacks the key": false, "is gone": true} {
		t.Run("a name that is taken takes nothing away, while the source "+name+" (R278, N22)", func(t *testing.T) {
			s, claim, item := lost(t, nil)
			if gone {
				s.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace,
					Name: item.Spec.WriteConnectionSecretToReference.Name}})
			}
			s.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "taken"}, Type: xpv1.SecretTypeConnection})
			s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "taken" })
			for range 2 {
				s.pass()
				s.holds(map[string]string{"username": "admin", "password": "hunter2"})
				s.wantState("orders", "Bound", xpv1.ReasonBinding, xpv1.ReasonReconcileError, `"taken"`, "name another")
			}
			s.delete(claim)
			s.pass()
			if s.secret("orders-connection") != nil {
				t.Error("it outlives the claim")
			}
		})
	}
	t.Run("a claim that names no Secret any more takes nothing away (R278, N22)", func(t *testing.T) {
		s, claim, _ := lost(t, nil)
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference = nil })
		s.pass()
		s.holds(map[string]string{"username": "admin", "password": "hunter2"})
	})
}

// A person deletes the source while all controllers run.
func TestLostSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shelf.once = true
	w.start(setUp)
	w.create(w.newClass(nil), w.newClaim("orders", nil))
	w.shows("orders", xpv1.ReasonAvailable)
	says := func(synced xpv1.ConditionReason) {
		t.Helper()
		w.env.Eventually(t, "the claim says "+string(synced), func(context.Context) error {
			if got := w.claimOf("orders").GetCondition(xpv1.TypeSynced); got.Reason != synced {
				return fmt.Errorf("it says %s: %s", got.Reason, got.Message)
			}
			return nil
		})
	}
	t.Run("the copy keeps it, and claim and managed resource report it (R208, R270, R271, N22, N42)", func(t *testing.T) {
		source := &corev1.Secret{}
		if !w.get(w.item().Spec.WriteConnectionSecretToReference.Name, source) {
			t.Fatal("there is no source")
		}
		w.delete(source)
		says(xpv1.ReasonReconcileError)
		w.env.Eventually(t, "it is said which", func(context.Context) error {
			if said := w.claimOf("orders").GetCondition(xpv1.TypeSynced).Message; !strings.Contains(said, "lost password") {
				return errors.New(said)
			}
			return nil
		})
		w.shows("orders", xpv1.ReasonAvailable)
		if got := w.secret("orders-connection")["password"]; got != "of "+w.item().Name {
			t.Errorf("the copy has password %q", got)
		}
		w.env.Eventually(t, "the managed resource reports it", func(context.Context) error {
			if failed := xpv1.FailureOf(w.item()); failed.Reason != failure.ConnectionDetailsLost {
				return fmt.Errorf("it reports %+v", failed)
			}
			return nil
		})
	})
	t.Run("what somebody adds to the source heals all (R284, N22)", func(t *testing.T) {
		source := &corev1.Secret{}
		w.get(w.item().Spec.WriteConnectionSecretToReference.Name, source)
		w.edit(source, func() { source.Data["password"] = []byte("reset") })
		says(xpv1.ReasonReconcileSuccess)
		w.agreed("orders-connection", w.claimOf("orders"), w.item())
	})
}

// A copy that its holder made immutable is made anew when it is out of step.
func TestImmutableCopy(t *testing.T) {
	t.Parallel()
	freeze := func(t *testing.T) (*stage, *shop.ItemClaim, *shop.Item, *corev1.Secret) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		to := &corev1.Secret{}
		s.get("orders-connection", to)
		s.edit(to, func() { to.Immutable = new(true) })
		return s, claim, item, to
	}
	t.Run("it follows (R284)", func(t *testing.T) {
		s, claim, item, frozen := freeze(t)
		s.pass()
		if to := (&corev1.Secret{}); !s.get("orders-connection", to) || to.UID != frozen.UID {
			t.Fatal("one that is in step was made anew")
		}
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		s.edit(source, func() { source.Data["password"] = []byte("hunter3") })
		s.pass()
		s.agreed("orders-connection", claim, item)
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("it follows a source that was published anew (R271, R284)", func(t *testing.T) {
		s, claim, item, _ := freeze(t)
		s.publishAnew(item, map[string]string{"username": "root", "password": "hunter3"})
		s.pass()
		s.agreed("orders-connection", claim, item)
	})
	t.Run("it stays where it alone has a key (R270, N22)", func(t *testing.T) {
		s, _, item, frozen := freeze(t)
		s.edit(item, func() { item.Annotations[managed.AnnotationKeyCreatedKeys] = "password" })
		s.publishAnew(item, map[string]string{"username": "root"})
		s.pass()
		if to := (&corev1.Secret{}); !s.get("orders-connection", to) || to.UID != frozen.UID || string(to.Data["password"]) != "hunter2" {
			t.Errorf("it has keys %v", to.Data)
		}
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
	})
}
