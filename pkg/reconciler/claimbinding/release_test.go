// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/shop"
)

// What becomes of a managed resource when its claim goes.
func TestReclaim(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		prepare func(*stage)
		kept    bool
	}{
		"R279 N4 made for the claim, no policy in the class: deleted": {prepare: func(s *stage) { s.bound(nil) }},
		"R279 Retain: kept": {prepare: func(s *stage) {
			_, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
		}, kept: true},
		"R279 N4 static without policy: kept": {prepare: func(s *stage) { s.boundStatic("") }, kept: true},
		"R279 static, to be deleted: deleted": {prepare: func(s *stage) { s.boundStatic(xpv1.ReclaimDelete) }},
		"R279 deleted before it could be bound": {prepare: func(s *stage) {
			s.create(s.newClass(nil), s.newClaim("orders", nil))
			s.pass()
		}},
		"R279 N11 the claim does not name it yet": {prepare: func(s *stage) { s.unreferred() }},
		"R279 its class and its resource are gone": {prepare: func(s *stage) {
			_, item := s.bound(nil)
			s.delete(item)
			s.delete(s.newClass(nil))
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			tc.prepare(s)
			s.events.take()
			s.delete(s.claimOf("orders"))
			s.pass()
			if s.get("orders", &shop.ItemClaim{}) {
				t.Error("the claim is still there")
			}
			if !tc.kept {
				if left := s.items(); len(left) > 0 {
					t.Errorf("%d managed resources are left", len(left))
				}
				return
			}
			item := s.item()
			if item.Status.BindingPhase != xpv1.BindingPhaseReleased || item.Spec.ClaimReference == nil {
				t.Errorf("phase %q, claimRef %v", item.Status.BindingPhase, item.Spec.ClaimReference)
			}
			source := &corev1.Secret{}
			s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
			if to := meta.PropagatesTo(source); len(to) > 0 || len(source.Data) == 0 {
				t.Errorf("the Secret of what was kept has %d keys and goes on to %v", len(source.Data), to)
			}
			if diff := cmp.Diff([]event.Reason{claimbinding.ReasonReleased}, s.events.take()); diff != "" {
				t.Errorf("events, -want +got:\n%s", diff)
			}
		})
	}
}

func (s *stage) boundStatic(policy xpv1.ReclaimPolicy) {
	s.t.Helper()
	item := s.newItem("legacy", func(item *shop.Item) { s.toNamespace(item); item.Spec.ReclaimPolicy = policy })
	s.create(item)
	s.ready(item, "hunter2")
	s.create(s.newClaim("orders", s.static(item.Name)))
	s.pass()
	s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
}

// unreferred is the state after a crash between making the managed resource and recording it on the claim.
func (s *stage) unreferred() {
	s.t.Helper()
	s.create(s.newClass(nil), s.newClaim("orders", nil))
	made := false
	s.restart(tapped(s.env.Config, func(request string) (error, error) {
		if made {
			return errDead, nil
		}
		made = request == "POST /apis/shop.test.bowline.dev/v1/items"
		return nil, nil
	}))
	_, _ = s.tryPass("orders")
	s.restart(s.env.Config)
	if s.claimOf("orders").Spec.ResourceReference != nil {
		s.t.Fatal("the claim names it already")
	}
	_ = s.item()
}

// A claim never reaches what it has no right to, neither by going nor by coming again.
func TestReclaimIsLimited(t *testing.T) {
	t.Parallel()
	t.Run("R279 N27 deleting a claim that was refused touches nothing", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		item := s.newItem("legacy", func(item *shop.Item) { item.Spec.ReclaimPolicy = xpv1.ReclaimDelete })
		s.create(item)
		s.ready(item, "hunter2")
		claim := s.newClaim("orders", s.static(item.Name))
		claim.Finalizers = []string{claimbinding.Finalizer} // forged
		s.create(claim)
		s.pass()
		before := s.item()
		s.delete(claim)
		s.pass()
		if diff := cmp.Diff(before, s.item()); diff != "" || s.get("orders", &shop.ItemClaim{}) {
			t.Errorf("-before +after:\n%s", diff)
		}
	})
	t.Run("R274 R279 a new claim of the same name does not get what the old one had", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		_, old := s.bound(nil)
		s.edit(old, func() { old.Spec.ReclaimPolicy = xpv1.ReclaimRetain; s.toNamespace(old) })
		s.delete(s.claimOf("orders"))
		s.pass()
		s.create(s.newClaim("orders", nil), s.newClaim("thief", s.static(old.Name)))
		s.pass()
		s.passOf("thief")
		s.wantState("thief", "Unbound", xpv1.ReasonNotAllowed, xpv1.ReasonReconcileError)
		if items := s.items(); len(items) != 2 || s.claimOf("orders").Spec.ResourceReference.Name == old.Name {
			t.Errorf("%d managed resources; the new claim has %v", len(items), s.claimOf("orders").Spec.ResourceReference)
		}
	})
	for name, give := range map[string]func(*stage, *shop.Item){
		"cleared": func(s *stage, item *shop.Item) { item.Spec.ClaimReference = nil; s.toNamespace(item) },
		"changed": func(s *stage, item *shop.Item) { s.toClaim("again")(item) },
		"without its UID": func(s *stage, item *shop.Item) {
			item.Spec.ClaimReference.UID = ""
			item.Spec.ClaimReference.Name = "again"
		},
	} {
		t.Run("R279 a released one can be bound again once its claimRef is "+name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			_, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
			s.delete(s.claimOf("orders"))
			s.pass()
			s.create(s.newClaim("again", s.static(item.Name)))
			s.passOf("again")
			s.wantState("again", "Unbound", xpv1.ReasonNotAllowed, xpv1.ReasonReconcileError)
			s.edit(item, func() { give(s, item) })
			s.passOf("again")
			s.wantState("again", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
			if got := s.secret("again-connection")["password"]; got != "hunter2" {
				t.Errorf("password %q", got)
			}
		})
	}
}

// Managed resources that nobody released.
func TestStrays(t *testing.T) {
	t.Parallel()
	t.Run("R268 a claim whose finalizer somebody removed deletes nothing, but lets go", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, _ := s.bound(nil)
		s.edit(claim, func() { claim.Finalizers = nil })
		s.delete(claim)
		s.pass()
		if got := s.item().Status.BindingPhase; got != xpv1.BindingPhaseReleased {
			t.Errorf("phase %q", got)
		}
	})
	t.Run("R268 R281 what was made before the class was changed goes", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.unreferred()
		claim := s.claimOf("orders")
		s.edit(claim, func() { claim.Spec.ClassReference.Kind = shop.GadgetClassKind })
		s.pass()
		if left := s.items(); len(left) > 0 {
			t.Errorf("%d managed resources are left", len(left))
		}
		if len(s.claimOf("orders").Finalizers) == 0 {
			t.Error("the claim is another controller's, and was touched")
		}
	})
}
