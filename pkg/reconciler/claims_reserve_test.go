// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
)

// How many claims may use a class.
func TestLimit(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"a claim beyond the limit waits, and has the place of one that goes (N10)": func(s *claimStage) {
			s.create(s.limited(1), s.newClaim("orders", nil), s.newClaim("others", nil))
			s.pass()
			if rest := s.passOf("others"); rest.RequeueAfter == 0 {
				s.t.Error("the pass is not repeated")
			}
			s.waits("orders", xpv1.ReasonBinding)
			s.waits("others", xpv1.ReasonLimitReached, "1 claims", "Wait")
			if len(s.items()) != 1 || len(s.claimOf("others").Finalizers) > 0 {
				s.t.Errorf("%d managed resources", len(s.items()))
			}
			s.delete(s.claimOf("orders"))
			s.pass()
			if got := s.places(); got != "" {
				s.t.Errorf("the class still counts %s", got)
			}
			s.passOf("others")
			s.waits("others", xpv1.ReasonBinding)
		},
		"teams that read the class learn nothing of others (N10, N27)": func(s *claimStage) {
			s.create(s.limited(1), s.newClaim("orders", nil))
			s.pass()
			if got := s.places(); !strings.Contains(got, string(s.claimOf("orders").UID)) || strings.Contains(got, "orders") ||
				strings.Contains(got, s.Namespace) {
				s.t.Errorf("the class has %s", got)
			}
		},
		"raising the limit admits the claim, lowering it evicts none (N10)": func(s *claimStage) {
			class := s.limited(0)
			s.create(class, s.newClaim("orders", nil), s.newClaim("others", nil))
			s.pass()
			s.waits("orders", xpv1.ReasonLimitReached)
			s.edit(class, func() { class.SpecTemplate.Claims.Max = new(int64(2)) })
			s.pass()
			s.passOf("others")
			s.edit(class, func() { class.SpecTemplate.Claims.Max = new(int64(1)) })
			for _, item := range s.items() {
				s.ready(&item)
			}
			s.pass()
			s.passOf("others")
			s.isBound("orders")
			s.isBound("others")
		},
		"claims count that were served before there was a limit (N10)": func(s *claimStage) {
			_, item := s.bound(nil)
			class := s.newClass(nil)
			s.edit(class, func() { class.SpecTemplate.Claims.Max = new(int64(1)) })
			s.create(s.newClaim("others", nil))
			s.passOf("others")
			s.waits("others", xpv1.ReasonLimitReached)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
			s.delete(s.claimOf("orders"))
			s.pass()
			s.passOf("others")
			s.waits("others", xpv1.ReasonLimitReached, "left a managed resource that is kept", "spec.claimRef")
			s.edit(item, func() { item.Spec.ClaimReference = nil })
			s.passOf("others")
			s.waits("others", xpv1.ReasonBinding)
		},
	})
}

// The count of a class is right whatever happens to it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"places of claims that are gone, or use another class, heal (N10)": func(s *claimStage) {
			class := s.limited(2)
			moved := s.newClaim("moved", func(c *shop.ItemClaim) { c.Spec.ClassReference = reference(shop.ItemClassKind, "another") })
			s.create(class, moved, s.newClaim("orders", nil), s.newClaim("others", nil))
			of := func(kind string) string { return fmt.Sprintf(`"%s.shop.test.bowline.dev"`, kind) }
			s.edit(class, func() {
				class.Annotations = map[string]string{claimbinding.AnnotationKeyClaims: fmt.Sprintf(`{"gone":%s,"before":%s,%q:%s}`,
					of(shop.OtherClaimKind), of(shop.ItemClaimKind), moved.UID, of(shop.ItemClaimKind))}
			})
			s.pass()
			s.passOf("others")
			if got := s.places(); len(s.items()) != 2 || strings.Contains(got, "gone") || strings.Contains(got, string(moved.UID)) {
				s.t.Errorf("%d managed resources; the class counts %s", len(s.items()), got)
			}
		},
		"removing finalizers of claims exceeds no limit, with policy Delete (N10, R279)": func(s *claimStage) { s.tears(xpv1.ReclaimDelete, 0) },
		"removing finalizers of claims exceeds no limit, with policy Retain (N10, R279)": func(s *claimStage) { s.tears(xpv1.ReclaimRetain, 1) },
		"as many entries as a limit can allow fit into the class (N10)": func(s *claimStage) {
			class := s.limited(1000)
			var entries []string
			for i := range 999 {
				entries = append(entries, fmt.Sprintf(`"%036d":"StrangeInstance.database.crossplane.io"`, i))
			}
			class.Annotations = map[string]string{claimbinding.AnnotationKeyClaims: "{" + strings.Join(entries, ",") + "}"}
			s.create(class, s.newClaim("orders", nil), s.newClaim("others", nil))
			s.pass()
			s.waits("orders", xpv1.ReasonBinding)
			s.passOf("others")
			s.waits("others", xpv1.ReasonLimitReached)
		},
		"a damaged count admits no claim, which learns what to do (N10)": func(s *claimStage) {
			class := s.limited(2)
			class.Annotations = map[string]string{claimbinding.AnnotationKeyClaims: "2"}
			s.create(class, s.newClaim("orders", nil))
			s.pass()
			s.refused("orders", xpv1.ReasonLimitReached, claimbinding.AnnotationKeyClaims, "remove")
		},
		"no race exceeds the limit (N10)": func(s *claimStage) {
			s.create(s.limited(3))
			var work sync.WaitGroup
			begin := make(chan struct{})
			for i := range 12 {
				name := fmt.Sprintf("claim-%d", i)
				s.create(s.newClaim(name, nil))
				racer := claimStageOn(s.again()) // a process of its own
				work.Go(func() {
					<-begin
					for range 6 {
						_, _ = racer.tryPass(name)
					}
				})
			}
			close(begin)
			work.Wait()
			if got := len(s.items()); got != 3 {
				s.t.Errorf("%d managed resources, want 3; the class counts %s", got, s.places())
			}
		},
	})
}

// tears removes the finalizers of claims of a class with the limit 1, and checks how many managed resources exist after each.
func (s *claimStage) tears(policy xpv1.ReclaimPolicy, want int) {
	s.t.Helper()
	class := s.limited(1)
	class.SpecTemplate.ReclaimPolicy = policy
	s.create(class)
	for _, name := range []string{"a", "b", "c"} {
		s.create(s.newClaim(name, nil))
		s.passOf(name)
		s.tear(name)
		s.passOf(name)
		if got := len(s.items()); got != want {
			s.t.Errorf("%d managed resources after claim %s", got, name)
		}
	}
}

// Which namespaces may use a class.
func TestClaimNamespaces(t *testing.T) {
	t.Parallel()
	of := func(selector metav1.LabelSelector, allowed bool) func(*claimStage) {
		return func(s *claimStage) {
			s.inTier("gold")
			s.create(s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.Claims.NamespaceSelector = &selector }), s.newClaim("orders", nil))
			s.pass()
			if allowed {
				s.waits("orders", xpv1.ReasonBinding)
			} else {
				s.refused("orders", xpv1.ReasonNotAllowed)
			}
			if created := len(s.items()) > 0; created != allowed {
				s.t.Errorf("a managed resource: %t", created)
			}
		}
	}
	silver := metav1.LabelSelector{MatchLabels: map[string]string{"tier": "silver"}}
	runClaims(t, map[string]func(*claimStage){
		"its label matches (N10)":             of(metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}, true),
		"an empty selector matches all (N10)": of(metav1.LabelSelector{}, true),
		"its label does not match (N10)":      of(silver, false),
		"a selector that cannot be understood (N10)": of(metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "no label", Operator: "Exists"}}}, false),
		"a class that is closed to a namespace keeps whom it serves (R277, N10)": func(s *claimStage) {
			s.bound(nil)
			class := s.newClass(nil)
			s.edit(class, func() { class.SpecTemplate.Claims.NamespaceSelector = &silver })
			s.pass()
			s.isBound("orders")
		},
	})
}
