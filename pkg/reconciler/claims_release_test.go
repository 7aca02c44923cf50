// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
)

// What becomes of a managed resource when its claim goes.
func TestReclaim(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		prepare func(*claimStage)
		kept    bool
	}{
		"made for the claim, no policy in the class: deleted (R279, N4)": {prepare: func(s *claimStage) { s.bound(nil) }},
		"Retain: kept (R279)": {prepare: func(s *claimStage) {
			_, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
		}, kept: true},
		"static without policy: kept (R279, N4)": {prepare: func(s *claimStage) { s.boundStatic("") }, kept: true},
		"static, to be deleted: deleted (R279)":  {prepare: func(s *claimStage) { s.boundStatic(xpv1.ReclaimDelete) }},
		"deleted before it could be bound (R279)": {prepare: func(s *claimStage) {
			s.create(s.newClass(nil), s.newClaim("orders", nil))
			s.pass()
		}},
		"the claim does not name it yet (R279, N11)": {prepare: func(s *claimStage) { s.unreferred() }},
		"its class and its resource are gone (R279)": {prepare: func(s *claimStage) {
			_, item := s.bound(nil)
			s.delete(item)
			s.delete(s.newClass(nil))
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClaimStage(t)
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
			source := s.source(item)
			if to := meta.PropagatesTo(source); len(to) > 0 || len(source.Data) == 0 {
				t.Errorf("the Secret of what was kept has %d keys and is copied to %v", len(source.Data), to)
			}
			s.wantEvents(claimbinding.ReasonReleased)
		})
	}
}

// unreferred is the state after a crash between the creation of the managed resource and recording it on the claim.
func (s *claimStage) unreferred() {
	s.t.Helper()
	s.create(s.newClass(nil), s.newClaim("orders", nil))
	s.crashedAfter(1)
	if s.claimOf("orders").Spec.ResourceReference != nil {
		s.t.Fatal("the claim names it already")
	}
	_ = s.item()
}

// crashedAfter makes a pass whose process crashes after so many attempts to create an item.
func (s *claimStage) crashedAfter(attempts int) {
	s.t.Helper()
	s.restart(fault.InterceptWrites(s.Config, func(request string) (error, error) {
		if attempts == 0 {
			return fault.ErrCrashed, nil
		}
		if request == "POST /apis/shop.test.bowline.dev/v1/items" {
			attempts--
		}
		return nil, nil
	}))
	_, _ = s.tryPass("orders")
	s.restart(s.Config)
}

// A claim never reaches what it has no right to, neither by going nor by coming again.
func TestReclaimIsLimited(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"deleting a claim that was refused touches nothing (R279, N27)": func(s *claimStage) {
			item := s.newItem("legacy", func(item *shop.Item) { item.Spec.ReclaimPolicy = xpv1.ReclaimDelete })
			s.create(item)
			s.ready(item)
			claim := s.newClaim("orders", static(item.Name))
			claim.Finalizers = []string{claimbinding.Finalizer} // forged
			s.create(claim)
			s.pass()
			before := s.item()
			s.delete(claim)
			s.pass()
			if diff := cmp.Diff(before, s.item()); diff != "" || s.get("orders", &shop.ItemClaim{}) {
				s.t.Errorf("-before +after:\n%s", diff)
			}
		},
		"a new claim of the same name does not get what the old one had (R274, R279)": func(s *claimStage) {
			_, old := s.bound(nil)
			s.edit(old, func() { old.Spec.ReclaimPolicy = xpv1.ReclaimRetain; s.toNamespace(old) })
			s.delete(s.claimOf("orders"))
			s.pass()
			s.create(s.newClaim("orders", nil), s.newClaim("thief", static(old.Name)))
			s.pass()
			s.passOf("thief")
			s.refused("thief", xpv1.ReasonNotAllowed)
			if items := s.items(); len(items) != 2 || s.claimOf("orders").Spec.ResourceReference.Name == old.Name {
				s.t.Errorf("%d managed resources; the new claim has %v", len(items), s.claimOf("orders").Spec.ResourceReference)
			}
		},
	})
	for name, give := range map[string]func(*claimStage, *shop.Item){
		"cleared": func(s *claimStage, item *shop.Item) { item.Spec.ClaimReference = nil; s.toNamespace(item) },
		"changed": func(s *claimStage, item *shop.Item) { s.toClaim("again")(item) },
		"without its UID": func(s *claimStage, item *shop.Item) {
			item.Spec.ClaimReference.UID = ""
			item.Spec.ClaimReference.Name = "again"
		},
	} {
		t.Run("a released one can be bound again once its claimRef is "+name+" (R279)", func(t *testing.T) {
			t.Parallel()
			s := newClaimStage(t)
			_, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
			s.delete(s.claimOf("orders"))
			s.pass()
			s.create(s.newClaim("again", static(item.Name)))
			s.passOf("again")
			s.refused("again", xpv1.ReasonNotAllowed)
			s.edit(item, func() { give(s, item) })
			s.passOf("again")
			s.isBound("again")
			if got := s.text("again-connection")["password"]; got != "hunter2" {
				t.Errorf("password %q", got)
			}
		})
	}
}

// Managed resources that were not released.
func TestStrays(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"what was made for a claim whose finalizer was removed by hand is deleted (R268, R279)": func(s *claimStage) {
			_, old := s.bound(nil)
			s.tear("orders")
			s.create(s.newClaim("orders", nil)) // at once, and so the pass is over this one
			s.pass()
			if s.get(old.Name, old) || s.item().Spec.ClaimReference.UID != s.claimOf("orders").UID {
				s.t.Error("it is there")
			}
		},
		"what existed before is kept and copied to no Secret (R268, R279)": func(s *claimStage) {
			s.boundStatic(xpv1.ReclaimDelete)
			s.tear("orders")
			s.pass()
			if err := s.checkReleased(); err != nil {
				s.t.Error(err)
			}
		},
		"nothing is deleted while it is unknown whether the claim exists (R268, R279)": func(s *claimStage) {
			s.bound(nil)
			s.restart(unserved(s.Config, "/itemclaims/"))
			if _, err := s.tryPass("orders"); err == nil || s.item().Status.BindingPhase != xpv1.BindingPhaseBound {
				s.t.Errorf("error %v, phase %s", err, s.item().Status.BindingPhase)
			}
		},
		"what was made goes if the claim names another one meanwhile (R268)": func(s *claimStage) {
			s.unreferred()
			claim := s.claimOf("orders")
			s.edit(claim, func() { static("nothing")(claim) })
			s.pass()
			s.refused("orders", xpv1.ReasonBinding, "does not exist")
			if left := s.items(); len(left) > 0 {
				s.t.Errorf("%d managed resources are left", len(left))
			}
		},
		"what was made and is being deleted is not what the claim gets (R268)": func(s *claimStage) {
			s.unreferred()
			old := s.item()
			s.edit(old, func() { old.Finalizers = []string{"test.bowline.dev/hold"} })
			s.delete(old)
			claim := s.claimOf("orders")
			s.pass()
			s.waits("orders", xpv1.ReasonBinding, "being deleted")
			s.edit(claim, func() { claim.Finalizers = nil }) // as if it were the first pass
			s.pass()
			s.waits("orders", xpv1.ReasonBinding, "being deleted")
			s.edit(old, func() { old.Finalizers = nil })
			s.pass()
			if s.item().UID == old.UID || s.claimOf("orders").Spec.ResourceReference == nil {
				s.t.Error("nothing else was made")
			}
		},
		"nothing of a kind that is gone is waited for (R279)": func(s *claimStage) {
			claim := s.newClaim("orders", nil)
			claim.Finalizers = []string{claimbinding.Finalizer}
			s.create(s.newClass(nil), claim)
			s.delete(claim)
			s.restart(unserved(s.Config, "/items/"))
			s.pass()
			if s.get("orders", claim) {
				s.t.Error("the claim cannot go")
			}
		},
		"what was made before the class was changed goes (R268, R281)": func(s *claimStage) {
			s.unreferred()
			claim := s.claimOf("orders")
			s.edit(claim, func() { claim.Spec.ClassReference.Kind = shop.GadgetClassKind })
			s.pass()
			if left := s.items(); len(left) > 0 {
				s.t.Errorf("%d managed resources are left", len(left))
			}
			if len(s.claimOf("orders").Finalizers) == 0 {
				s.t.Error("the claim is another controller's, and was touched")
			}
		},
	})
}

// The removal of a finalizer by force is no request to delete data.
func TestTornClaims(t *testing.T) {
	t.Parallel()
	const permitted = meta.AnnotationKeyReclaimedFrom
	for name, tc := range map[string]struct {
		data, external, kept bool
		before               func(*claimStage, *shop.Item)
	}{
		"what may hold data is kept (N56)":                                 {data: true, external: true, kept: true},
		"also for a claim that wanted to keep it (N31, N56)":               {data: true, external: true, kept: true, before: (*claimStage).refusesOrphaning},
		"also if its deletion was permitted already (N39, N56)":            {data: true, external: true, kept: true, before: (*claimStage).permitted},
		"also if its state is lost, and it was there before (N56)":         {data: true, external: true, kept: true, before: (*claimStage).restored},
		"what was made for a claim and never bound is deleted (R268, N56)": {data: true, external: true, before: (*claimStage).unbound},
		"what has no external resource is deleted (R268, N56)":             {data: true},
		"what holds no data is deleted by its policy (R279, N56)":          {external: true},
		"what people protect is kept (N64)":                                {external: true, kept: true, before: (*claimStage).protect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClaimStage(t, claimbinding.WithData(tc.data))
			_, item := s.bound(nil)
			if tc.external {
				s.hold(item)
			}
			if tc.before != nil {
				tc.before(s, item)
			}
			s.tear("orders")
			s.events.Take()
			s.pass()
			s.pass()
			left := s.items()
			if deleted := len(left) == 0 || meta.WasDeleted(&left[0]); deleted == tc.kept {
				t.Errorf("it is deleted: %t", deleted)
			}
			if !tc.kept {
				return
			}
			if err := s.checkReleased(); err != nil || s.item().Annotations[permitted] != "" {
				t.Errorf("%v; annotations %v", err, s.item().Annotations)
			}
			s.wantEvents(claimbinding.ReasonReleased)
		})
	}
}

// hold has an item show that it has an external resource.
func (s *claimStage) hold(item *shop.Item) {
	s.edit(item, func() { item.Finalizers = []string{"test.bowline.dev/hold"} })
	s.t.Cleanup(func() { _ = testkit.Remove(context.Background(), s.Client, item) })
}

// unbound has an item with an external resource of its own, which its claim never got.
func (s *claimStage) unbound(item *shop.Item) {
	s.edit(item, func() { meta.SetExternalCreatePending(item, item.CreationTimestamp.Time) })
	s.restored(item)
}

// restored has an item without its binding phase.
func (s *claimStage) restored(item *shop.Item) {
	s.status(item, func() { item.Status.BindingPhase = "" })
}

// permitted has a claim whose deletion was interrupted after it permitted that of its item.
func (s *claimStage) permitted(item *shop.Item) {
	s.edit(item, func() { meta.SetReclaimedFrom(item, item.Spec.ClaimReference.UID) })
}

// refusesOrphaning has a claim whose deletion waits.
func (s *claimStage) refusesOrphaning(*shop.Item) {
	claim := s.claimOf("orders")
	s.edit(claim, func() { claim.Annotations[meta.AnnotationKeyOrphanOnDelete] = "true" })
	s.delete(claim)
	s.pass()
}

// A claim that another program holds is left as it is.
func TestHeldClaims(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"a claim that has another finalizer keeps what it has until that is removed (N37, R279)": func(s *claimStage) {
			claim, item := s.bound(func(c *shop.ItemClaim) { c.Finalizers = []string{"example.org/hold"} })
			s.events.Take()
			s.delete(claim)
			for range 2 { // the second pass reports nothing new
				s.pass()
				s.held()
			}
			if s.item().UID != item.UID || meta.WasDeleted(s.item()) {
				s.t.Error("the managed resource is deleted")
			}
			s.wantEvents(event.Reason(failure.WaitingForFinalizers))
			claim = s.claimOf("orders")
			s.edit(claim, func() { claim.Finalizers = []string{claimbinding.Finalizer} })
			s.pass()
			if len(s.items()) > 0 || s.get("orders", claim) {
				s.t.Error("the deletion did not resume")
			}
		},
		"its strays stay too until that is removed (N37)": func(s *claimStage) {
			s.unreferred()
			claim := s.claimOf("orders")
			s.edit(claim, func() {
				claim.Spec.ClassReference.Kind = shop.GadgetClassKind
				claim.Finalizers = append(claim.Finalizers, "example.org/hold")
			})
			s.delete(claim)
			s.pass()
			if len(s.items()) != 1 {
				s.t.Error("what was created for the claim is deleted")
			}
			s.edit(claim, func() { claim.Finalizers = []string{claimbinding.Finalizer} })
			s.pass()
			if len(s.items()) > 0 {
				s.t.Error("what was created for the claim stays")
			}
		},
		"one whose author wants to keep the data keeps it (N31)": func(s *claimStage) {
			claim, _ := s.bound(func(c *shop.ItemClaim) { c.Annotations = map[string]string{meta.AnnotationKeyOrphanOnDelete: "true"} })
			s.delete(claim)
			s.pass()
			s.pass()
			ready := s.claimOf("orders").GetCondition(xpv1.TypeReady)
			if meta.WasDeleted(s.item()) || ready.Status != "False" || !strings.Contains(ready.Message, "remove the annotation") ||
				xpv1.FailureOf(s.claimOf("orders")).Reason != xpv1.ReasonNotAllowed {
				s.t.Errorf("item %+v, claim %+v", s.item(), ready)
			}
			item := s.item()
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
			s.pass()
			if err := s.checkReleased(); err != nil || s.get("orders", claim) {
				s.t.Errorf("the platform team permits it: %v", err)
			}
		},
		"and deletes it once the annotation is removed (N31)": func(s *claimStage) {
			claim, _ := s.bound(func(c *shop.ItemClaim) { c.Annotations = map[string]string{meta.AnnotationKeyOrphanOnDelete: "true"} })
			s.delete(claim)
			s.pass()
			claim = s.claimOf("orders")
			s.edit(claim, func() { delete(claim.Annotations, meta.AnnotationKeyOrphanOnDelete) })
			s.pass()
			if len(s.items()) > 0 || s.get("orders", claim) {
				s.t.Error("the deletion did not resume")
			}
		},
		"a claim that lost our finalizer and has another one is not Ready (N37)": func(s *claimStage) {
			claim, _ := s.bound(func(c *shop.ItemClaim) { c.Finalizers = []string{"example.org/hold"} })
			s.edit(claim, func() { claim.Finalizers = []string{"example.org/hold"} })
			s.delete(claim)
			s.pass()
			s.held()
		},
	})
}

// held checks the claim of which another finalizer delays the deletion.
func (s *claimStage) held() {
	s.t.Helper()
	c := s.claimOf("orders")
	ready, failed := c.GetCondition(xpv1.TypeReady), xpv1.FailureOf(c)
	if c.Status.BindingPhase != xpv1.BindingPhaseBound || ready.Status != "False" || ready.Reason != xpv1.ReasonDeleting ||
		!strings.Contains(ready.Message, "example.org/hold") || failed.Reason != failure.WaitingForFinalizers {
		s.t.Errorf("the claim has status %+v", c.Status)
	}
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

// Admission permits the deletion of a managed resource with its claim, and nothing else does.
func TestPermittedDeletion(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"the permission is stored before the deletion, which a crash in between only delays (N39)": func(s *claimStage) {
			claim, _ := s.bound(nil)
			s.delete(claim)
			s.restart(fault.InterceptWrites(s.Config, func(request string) (error, error) {
				if strings.HasPrefix(request, "DELETE /apis/shop.test.bowline.dev/v1/items") {
					return fault.ErrCrashed, nil
				}
				return nil, nil
			}))
			_, _ = s.tryPass("orders")
			if got := s.item().Annotations[meta.AnnotationKeyReclaimedFrom]; got != string(claim.UID) {
				s.t.Errorf("when the process crashes, the permission is %q, want %q", got, claim.UID)
			}
			s.restart(s.Config)
			s.pass()
			if left := s.items(); len(left) > 0 {
				s.t.Errorf("%d managed resources are left", len(left))
			}
		},
		"a permission ends when the reclaim policy is changed (N39)": func(s *claimStage) {
			claim, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain; meta.SetReclaimedFrom(item, claim.UID) })
			s.delete(claim)
			s.pass()
			if got := s.item(); got.Annotations[meta.AnnotationKeyReclaimedFrom] != "" || got.Status.BindingPhase != xpv1.BindingPhaseReleased {
				s.t.Errorf("phase %q, annotations %v", got.Status.BindingPhase, got.Annotations)
			}
		},
		"a rotation that the claim planned ends with the claim (N50)": func(s *claimStage) {
			claim, item := s.bound(nil)
			s.edit(item, func() {
				item.Spec.ReclaimPolicy = xpv1.ReclaimRetain
				meta.SetClaimRotatesCredentialsAt(item, "2099-01-02T15:04:05Z")
			})
			s.delete(claim)
			s.pass()
			if got := s.item(); len(meta.RotationRequests(got)) > 0 || got.Status.BindingPhase != xpv1.BindingPhaseReleased {
				s.t.Errorf("phase %q, annotations %v", got.Status.BindingPhase, got.Annotations)
			}
		},
		"a permission ends when the claim's author wants to keep the data (N31, N39)": func(s *claimStage) {
			claim, item := s.bound(func(c *shop.ItemClaim) { c.Annotations = map[string]string{meta.AnnotationKeyOrphanOnDelete: "true"} })
			s.edit(item, func() { meta.SetReclaimedFrom(item, claim.UID) })
			s.delete(claim)
			s.pass()
			if got := s.item(); meta.WasDeleted(got) || got.Annotations[meta.AnnotationKeyReclaimedFrom] != "" {
				s.t.Errorf("deleted %v, annotations %v", meta.WasDeleted(got), got.Annotations)
			}
		},
	})
}
