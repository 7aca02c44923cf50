// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Claims that name a managed resource that exists already.
func TestStatic(t *testing.T) {
	t.Parallel()
	allows := func(namespaces string) func(*claimStage, *shop.Item) {
		return func(_ *claimStage, item *shop.Item) {
			item.Annotations = map[string]string{meta.AnnotationKeyAllowedNamespaces: namespaces}
		}
	}
	cases := map[string]struct {
		item  func(*claimStage, *shop.Item)
		ready xpv1.ConditionReason
	}{
		"its annotation lists the namespace (R256, R263, N27)": {func(s *claimStage, item *shop.Item) { s.toNamespace(item) }, xpv1.ReasonAvailable},
		"its annotation lists all namespaces (N27)":            {allows("*"), xpv1.ReasonAvailable},
		"its claimRef names the claim without UID (R256, N27)": {
			func(s *claimStage, item *shop.Item) { s.toClaim("orders")(item) }, xpv1.ReasonAvailable},
		"it does not agree (N27)":     {func(*claimStage, *shop.Item) {}, xpv1.ReasonNotAllowed},
		"it agrees with others (N27)": {allows("elsewhere"), xpv1.ReasonNotAllowed},
		"its claimRef names another claim (R274)": {
			func(s *claimStage, item *shop.Item) { s.toNamespace(item); s.toClaim("others")(item) }, xpv1.ReasonNotAllowed},
		"its claimRef names an earlier claim of the same name (R274)": {func(s *claimStage, item *shop.Item) {
			s.toNamespace(item)
			s.toClaim("orders")(item)
			item.Spec.ClaimReference.UID = "earlier"
		}, xpv1.ReasonNotAllowed},
		"its claimRef names a claim of another kind (R274)": {func(s *claimStage, item *shop.Item) {
			s.toClaim("orders")(item)
			item.Spec.ClaimReference.Kind = shop.OtherClaimKind
		}, xpv1.ReasonNotAllowed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClaimStage(t)
			item := s.newItem("legacy", func(item *shop.Item) { tc.item(s, item) })
			s.create(item)
			s.ready(item)
			before := s.item()
			s.create(s.newClaim("orders", static(item.Name)))
			s.pass()
			if tc.ready == xpv1.ReasonAvailable {
				s.wantState("orders", "Bound", tc.ready, xpv1.ReasonReconcileSuccess)
				after, claim := s.item(), s.claimOf("orders")
				if after.Spec.ClaimReference.UID != claim.UID || after.Status.BindingPhase != xpv1.BindingPhaseBound {
					t.Errorf("claimRef %v, phase %q", after.Spec.ClaimReference, after.Status.BindingPhase)
				}
				if got := claim.Spec.ResourceReference.UID; got != after.UID {
					t.Errorf("resourceRef has UID %q, want %q (R273)", got, after.UID)
				}
				if s.text("orders-connection")["password"] != "hunter2" || after.Spec.ReclaimPolicy != "" {
					t.Errorf("secret %v, reclaim policy %q", s.secret("orders-connection"), after.Spec.ReclaimPolicy)
				}
				return
			}
			s.refused("orders", tc.ready, item.Name, "ask your platform team")
			after := s.item()
			if diff := cmp.Diff(before.Spec, after.Spec); diff != "" || s.secret("orders-connection") != nil {
				t.Errorf("something was written, -before +after:\n%s", diff)
			}
			if ref := after.Spec.ClaimReference; (after.Status.BindingPhase == xpv1.BindingPhaseReleased) != (ref != nil && ref.UID != "") {
				t.Errorf("phase %q: only what names a claim that is gone is released", after.Status.BindingPhase)
			}
			claim := s.claimOf("orders")
			if len(claim.Finalizers) > 0 {
				t.Error("a claim that has nothing holds on to itself")
			}
		})
	}
}

// strict is a configurator that has something against every managed resource that exists already.
type strict struct {
	claimbinding.ManagedConfiguratorFn
}

func (strict) CheckManaged(context.Context, resource.Claim, resource.Managed) error {
	return failure.ForTeam(xpv1.ReasonBinding, "it is too old", errors.New("as logged"))
}

// A static claim waits for what is not there or not ready, and two never get the same.
func TestStaticWaits(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"a missing managed resource is an error until it is there (R275)": func(s *claimStage) {
			item := s.newItem("legacy", s.toNamespace)
			s.create(s.newClaim("orders", static(item.Name)))
			if rest := s.pass(); rest.RequeueAfter == 0 {
				s.t.Error("the pass is not repeated")
			}
			s.refused("orders", xpv1.ReasonBinding, "does not exist")
			s.create(item)
			s.pass()
			s.waits("orders", xpv1.ReasonBinding, "not ready")
			if got := s.item().Spec.ClaimReference; got != nil {
				s.t.Errorf("bound before it could be used, to %v", got)
			}
			s.ready(item)
			s.pass()
			s.isBound("orders")
		},
		"a changed selector is reported to have no effect, once (R246, N13)": func(s *claimStage) {
			s.bound(nil)
			for _, wanted := range []map[string]string{{"tier": "golden"}, {}} {
				claim := s.claimOf("orders")
				s.edit(claim, func() { claim.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: wanted} })
				s.pass()
				ready, version := s.claimOf("orders").GetCondition(xpv1.TypeReady), s.claimOf("orders").ResourceVersion
				reported := strings.Contains(ready.Message, "spec.classSelector does not match class") && strings.Contains(ready.Message, "no effect")
				if ready.Reason != xpv1.ReasonAvailable || reported != (len(wanted) > 0) {
					s.t.Errorf("selector %v: %+v", wanted, ready)
				}
				if s.pass(); s.claimOf("orders").ResourceVersion != version {
					s.t.Error("another pass writes")
				}
			}
		},
		"what is not what the claim asks for is not bound (D27)": func(s *claimStage) {
			s.options = append(s.options, claimbinding.WithManagedConfigurators(strict{}))
			s.restart(s.Config)
			s.create(s.newClaim("orders", static(s.legacy(nil).Name)))
			s.pass()
			s.refused("orders", xpv1.ReasonBinding, "it is too old")
			if s.item().Spec.ClaimReference != nil || s.secret("orders-connection") != nil {
				s.t.Error("the claim got it")
			}
		},
		"of two claims that want the same one gets it (R274)": func(s *claimStage) {
			item := s.legacy(nil)
			s.create(s.newClaim("orders", static(item.Name)), s.newClaim("others", static(item.Name)))
			raced := false
			s.restart(fault.InterceptWrites(s.Config, func(request string) (error, error) {
				if !raced && request == fmt.Sprintf("PATCH /apis/shop.test.bowline.dev/v1/items/%s", item.Name) {
					raced = true // the other claim has passed all checks too, and is faster now
					claimStageOn(s.again()).passOf("others")
				}
				return nil, nil
			}))
			s.pass()
			s.restart(s.Config)
			s.pass()
			s.isBound("others")
			s.refused("orders", xpv1.ReasonNotAllowed)
			if s.secret("orders-connection") != nil {
				s.t.Error("the loser has a Secret")
			}
		},
	})
}

// kubectl replace sends the file of the author, without what was filled in.
func TestReplace(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"a replaced claim stays bound and ready (N52)": func(s *claimStage) {
			before, item := s.bound(nil)
			s.replace(func(claim *shop.ItemClaim) { claim.Spec.ClassReference = nil })
			for _, when := range []string{"before the pass", "after it"} {
				after := s.claimOf("orders")
				if diff := cmp.Diff([]any{before.Spec, before.Status, before.Generation, before.Finalizers},
					[]any{after.Spec, after.Status, after.Generation, after.Finalizers}); diff != "" {
					s.t.Errorf("%s, -before +after:\n%s", when, diff)
				}
				s.pass()
			}
			if got := s.item(); got.UID != item.UID || got.ResourceVersion != item.ResourceVersion {
				s.t.Errorf("the managed resource changed: %+v", got)
			}
		},
		"so does one that names its managed resource, without the UID (N52)": func(s *claimStage) {
			s.boundStatic("")
			before := s.claimOf("orders")
			s.replace(static(s.item().Name))
			if diff := cmp.Diff(before.Spec, s.claimOf("orders").Spec); diff != "" {
				s.t.Errorf("-before +after:\n%s", diff)
			}
		},
		"the rest of the file counts (N52)": func(s *claimStage) {
			s.bound(nil)
			s.replace(func(claim *shop.ItemClaim) { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
			s.pass()
			s.isBound("orders")
			s.holds("renamed", map[string]string{"username": "admin", "password": "hunter2"})
		},
		"another managed resource or class is refused (N52)": func(s *claimStage) {
			s.bound(nil)
			for _, change := range []func(*shop.ItemClaim){
				static("another"),
				func(claim *shop.ItemClaim) { claim.Spec.ClassReference.Name = "another" },
			} {
				if err := s.put(change); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "is settled") {
					s.t.Errorf("got %v", err)
				}
			}
		},
		"so is leaving out the managed resource of a claim that is not bound yet (N52)": func(s *claimStage) {
			s.unreferred()
			s.pass()
			if err := s.put(nil); !apierrors.IsInvalid(err) {
				s.t.Errorf("got %v", err)
			}
		},
	})
}

// put replaces claim "orders" by the file of its author, after a change.
func (s *claimStage) put(change func(*shop.ItemClaim)) error {
	claim := s.newClaim("orders", change)
	claim.ResourceVersion = s.claimOf("orders").ResourceVersion
	return s.Client.Update(s.t.Context(), claim)
}

func (s *claimStage) replace(change func(*shop.ItemClaim)) {
	s.t.Helper()
	if err := s.put(change); err != nil {
		s.t.Fatal(err)
	}
}

// A claim whose managed resource lost its external resource.
func TestLostExternalResource(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"a lost external resource shows on the claim until it is restored (N38)": func(s *claimStage) {
			_, item := s.bound(nil)
			s.status(item, func() {
				item.SetConditions(xpv1.ResourceLost(), xpv1.ReconcileError(errors.New("gone from https://secret")),
					xpv1.Stalled(failure.ExternalResourceLost, "ask your platform team"))
			})
			s.pass()
			s.wantState("orders", "Bound", xpv1.ReasonResourceLost, xpv1.ReasonReconcileError, item.Name, "ask your platform team")
			s.status(item, func() {
				item.Status.Conditions = nil
				item.SetConditions(xpv1.Available(), xpv1.ReconcileSuccess())
			})
			s.pass()
			s.isBound("orders")
		},
	})
}

// A claim that had its managed resource, and has it no more.
func TestLost(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"a lost managed resource shows on the claim, and is not replaced (R280)": func(s *claimStage) {
			_, item := s.bound(nil)
			s.edit(item, func() { item.Finalizers = []string{"test.bowline.dev/hold"} })
			s.delete(item)
			s.pass()
			s.waits("orders", xpv1.ReasonResourceLost, "being deleted")
			s.edit(item, func() { item.Finalizers = nil })
			for range 2 {
				s.pass()
				s.refused("orders", xpv1.ReasonResourceLost, "gone", "create another")
			}
			if len(s.items()) > 0 {
				s.t.Error("it was replaced")
			}
			s.delete(s.claimOf("orders"))
			s.pass()
			if s.get("orders", &shop.ItemClaim{}) {
				s.t.Error("the claim cannot go")
			}
		},
		"one of the same name is another one (R280)": func(s *claimStage) {
			_, item := s.bound(nil)
			s.delete(item)
			another := s.newItem("x", nil)
			another.Name = item.Name
			s.create(another)
			s.pass()
			s.refused("orders", xpv1.ReasonResourceLost)
			s.delete(another)
		},
		"a claim whose managed resource was given to another gets no more changes (R274)": func(s *claimStage) {
			_, item := s.bound(nil)
			s.edit(item, func() { s.toClaim("others")(item) })
			s.create(s.newClaim("others", static(item.Name)))
			s.pass()
			s.passOf("others")
			s.refused("orders", xpv1.ReasonNotAllowed)
			s.isBound("others")
			if to := meta.PropagatesTo(s.source(item)); len(to) != 1 {
				s.t.Errorf("the Secret is copied to %v", to)
			}
			s.holds("orders-connection", map[string]string{"username": "admin", "password": "hunter2"})
		},
		"a claim whose managed resource was taken back keeps its copy, and gets no more changes (N27, R274)": func(s *claimStage) {
			_, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ClaimReference = nil })
			for range 2 {
				s.pass()
				s.refused("orders", xpv1.ReasonNotAllowed)
				s.holds("orders-connection", map[string]string{"username": "admin", "password": "hunter2"})
				if to := meta.PropagatesTo(s.source(item)); len(to) > 0 {
					s.t.Errorf("the Secret is copied to %v", to)
				}
			}
			s.delete(s.claimOf("orders"))
			s.pass()
			if s.secret("orders-connection") != nil {
				s.t.Error("the copy outlives the claim")
			}
		},
		"a claim that names a path (R256)":   func(s *claimStage) { s.namesNothing("../x") },
		"a claim that names capitals (R256)": func(s *claimStage) { s.namesNothing("Legacy") },
	})
}

// namesNothing checks that what cannot be a name never reaches the API server, whose client would refuse it in every pass.
func (s *claimStage) namesNothing(name string) {
	s.t.Helper()
	claim := s.newClaim("orders", static(name))
	claim.Finalizers = []string{claimbinding.Finalizer} // as of a claim that had begun otherwise
	s.create(claim)
	s.pass()
	s.refused("orders", xpv1.ReasonBinding, "cannot be the name")
	s.delete(claim)
	s.pass()
	if s.get("orders", claim) {
		s.t.Error("the claim is still there")
	}
}
