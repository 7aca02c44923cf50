// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubeevent "sigs.k8s.io/controller-runtime/pkg/event"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
)

// What becomes of a managed resource when its claim goes.
func TestReclaim(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		prepare func(*stage)
		kept    bool
	}{
		"made for the claim, no policy in the class: deleted (R279, N4)": {prepare: func(s *stage) { s.bound(nil) }},
		"Retain: kept (R279)": {prepare: func(s *stage) {
			_, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
		}, kept: true},
		"static without policy: kept (R279, N4)": {prepare: func(s *stage) { s.boundStatic("") }, kept: true},
		"static, to be deleted: deleted (R279)":  {prepare: func(s *stage) { s.boundStatic(xpv1.ReclaimDelete) }},
		"deleted before it could be bound (R279)": {prepare: func(s *stage) {
			s.create(s.newClass(nil), s.newClaim("orders", nil))
			s.pass()
		}},
		"the claim does not name it yet (R279, N11)": {prepare: func(s *stage) { s.unreferred() }},
		"its class and its resource are gone (R279)": {prepare: func(s *stage) {
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
			s.events.Take()
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
			if diff := cmp.Diff([]event.Reason{claimbinding.ReasonReleased}, s.events.Take()); diff != "" {
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
	s.restart(fault.InterceptWrites(s.env.Config, func(request string) (error, error) {
		if made {
			return fault.ErrCrashed, nil
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
	t.Run("deleting a claim that was refused touches nothing (R279, N27)", func(t *testing.T) {
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
	t.Run("a new claim of the same name does not get what the old one had (R274, R279)", func(t *testing.T) {
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
		t.Run("a released one can be bound again once its claimRef is "+name+" (R279)", func(t *testing.T) {
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
	torn := func(s *stage) {
		claim := s.claimOf("orders")
		s.edit(claim, func() { claim.Finalizers = nil })
		s.delete(claim)
	}
	t.Run("what was made for a claim whose finalizer somebody removed goes (R268, R279)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		_, old := s.bound(nil)
		torn(s)
		s.create(s.newClaim("orders", nil)) // at once, and so the pass is over this one
		s.pass()
		if s.get(old.Name, old) || s.item().Spec.ClaimReference.UID != s.claimOf("orders").UID {
			t.Error("it is there")
		}
	})
	t.Run("what existed before is kept, and goes on to nobody (R268, R279)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.boundStatic(xpv1.ReclaimDelete)
		torn(s)
		s.pass()
		if err := s.checkReleased(); err != nil {
			t.Error(err)
		}
	})
	t.Run("nothing goes while nobody can say whether the claim is there (R268, R279)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.bound(nil)
		s.restart(unserved(s.env.Config, "/itemclaims/"))
		if _, err := s.tryPass("orders"); err == nil || s.item().Status.BindingPhase != xpv1.BindingPhaseBound {
			t.Errorf("error %v, phase %s", err, s.item().Status.BindingPhase)
		}
	})
}

// Managed resources that were made for a claim which is there, and does not get them.
func TestStraysOfClaims(t *testing.T) {
	t.Parallel()
	t.Run("what was made goes if the claim names another one meanwhile (R268)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.unreferred()
		claim := s.claimOf("orders")
		s.edit(claim, func() { s.static("nothing")(claim) })
		s.pass()
		s.wantState("orders", "Unbound", xpv1.ReasonBinding, xpv1.ReasonReconcileError, "does not exist")
		if left := s.items(); len(left) > 0 {
			t.Errorf("%d managed resources are left", len(left))
		}
	})
	t.Run("what was made and is being deleted is not what the claim gets (R268)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.unreferred()
		old := s.item()
		s.edit(old, func() { old.Finalizers = []string{"test.bowline.dev/hold"} })
		s.delete(old)
		claim := s.claimOf("orders")
		s.pass()
		s.wantState("orders", "Unbound", xpv1.ReasonBinding, xpv1.ReasonReconcileSuccess, "being deleted")
		s.edit(claim, func() { claim.Finalizers = nil }) // as if it were the first pass
		s.pass()
		s.wantState("orders", "Unbound", xpv1.ReasonBinding, xpv1.ReasonReconcileSuccess, "being deleted")
		s.edit(old, func() { old.Finalizers = nil })
		s.pass()
		if s.item().UID == old.UID || s.claimOf("orders").Spec.ResourceReference == nil {
			t.Error("nothing else was made")
		}
	})
	t.Run("nothing of a kind that is gone is waited for (R279)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim := s.newClaim("orders", nil)
		claim.Finalizers = []string{claimbinding.Finalizer}
		s.create(s.newClass(nil), claim)
		s.delete(claim)
		s.restart(unserved(s.env.Config, "/items/"))
		s.pass()
		if s.get("orders", claim) {
			t.Error("the claim cannot go")
		}
	})
	t.Run("what was made before the class was changed goes (R268, R281)", func(t *testing.T) {
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

// unserved is a server that does not know a kind.
func unserved(config *rest.Config, path string) *rest.Config {
	return fault.Intercept(config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !strings.Contains(req.URL.Path+"/", path) {
			return next.RoundTrip(req)
		}
		answer := httptest.NewRecorder()
		http.NotFound(answer, req)
		return answer.Result(), nil
	})
}

// Which claims wake a controller.
func TestMine(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	mine, other := s.newClaim("orders", nil), s.newClaim("orders", func(c *shop.ItemClaim) { c.Spec.ClassReference = nil })
	woken := claimbinding.Mine(s.reconciler)
	for name, is := range map[string]struct{ got, want bool }{
		"that names the class (R255)":         {woken.Create(kubeevent.CreateEvent{Object: mine}), true},
		"that names nothing (R255)":           {woken.Create(kubeevent.CreateEvent{Object: other}), false},
		"that turns away (R268)":              {woken.Update(kubeevent.UpdateEvent{ObjectOld: mine, ObjectNew: other}), true},
		"that never was (R255)":               {woken.Update(kubeevent.UpdateEvent{ObjectOld: other, ObjectNew: other}), false},
		"that goes, whatever it names (R268)": {woken.Delete(kubeevent.DeleteEvent{Object: other}), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if is.got != is.want {
				t.Error(is.got)
			}
		})
	}
}

// The garbage collector orphans a copy before or after the last pass over its claim, if somebody asks for that.
func TestOrphans(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]xpv1.ReclaimPolicy{"deleted": xpv1.ReclaimDelete, "kept": xpv1.ReclaimRetain} {
		for when, prepare := range map[string]func(*stage, *corev1.Secret){
			"still the claim's": func(*stage, *corev1.Secret) {},
			"orphaned already": func(s *stage, secret *corev1.Secret) {
				s.edit(secret, func() { secret.OwnerReferences = nil })
			},
		} {
			t.Run("the copy of a claim whose resource is "+name+", "+when+" (R272, R279)", func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				claim, item := s.bound(nil)
				s.edit(item, func() { item.Spec.ReclaimPolicy = policy })
				secret := &corev1.Secret{}
				s.get("orders-connection", secret)
				prepare(s, secret)
				if err := s.env.Client.Delete(t.Context(), claim, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
					t.Fatal(err)
				}
				s.pass()
				if s.get(secret.Name, secret) {
					t.Error("it is left behind")
				}
			})
		}
	}
}
