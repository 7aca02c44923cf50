// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// protect does what a class with the annotation does, or a person.
func (s *claimStage) protect(item *shop.Item) {
	s.edit(item, func() { item.Annotations[meta.AnnotationKeyProtect] = "true" })
}

// The deletion of a claim waits while its managed resource must not be deleted.
func TestKeptManagedResources(t *testing.T) {
	t.Parallel()
	inUse := func(s *claimStage, item *shop.Item, by ...string) {
		s.status(item, func() { item.SetConditions(xpv1.InUse(by...)) })
	}
	runClaims(t, map[string]func(*claimStage){
		"what a ProviderConfig uses stays, and so does its claim (N39)": func(s *claimStage) {
			claim, item := s.bound(nil)
			inUse(s, item, "ProviderConfig.a.example.org default")
			s.delete(claim)
			s.events.Take()
			s.pass()
			if got := s.claimOf("orders").GetCondition(xpv1.TypeReady); got.Reason != xpv1.ReasonDeleting || !strings.Contains(got.Message, "it is in use") {
				s.t.Errorf("Ready is %s: %s", got.Reason, got.Message)
			}
			s.wantEvents(event.Reason(xpv1.ReasonResourceInUse))
			inUse(s, s.item())
			s.pass()
			if left := s.items(); len(left) > 0 || s.get("orders", &shop.ItemClaim{}) {
				s.t.Errorf("%d managed resources are left", len(left))
			}
		},
		"what a ProviderConfig began to use is not deleted before the condition shows it (N39)": func(s *claimStage) {
			claim, item := s.bound(nil)
			secret := s.source(item)
			s.edit(secret, func() {
				secret.Annotations = map[string]string{meta.AnnotationPrefixInUse + "u": "ProviderConfig.a.example.org default"}
			})
			s.delete(claim)
			s.events.Take()
			s.pass()
			if item = s.item(); meta.WasDeleted(item) || item.Annotations[meta.AnnotationKeyReclaimedFrom] != "" {
				s.t.Errorf("it is deleted: %+v", item.ObjectMeta)
			}
			s.wantEvents(event.Reason(xpv1.ReasonResourceInUse))
			s.edit(secret, func() { secret.Annotations = nil })
			s.pass()
			if left := s.items(); len(left) > 0 || s.get("orders", &shop.ItemClaim{}) {
				s.t.Errorf("%d managed resources are left", len(left))
			}
		},
		"what people protect stays, and so does its claim (N64)": func(s *claimStage) {
			claim, item := s.bound(nil)
			s.protect(item)
			s.delete(claim)
			s.events.Take()
			s.pass()
			s.pass()
			got := s.claimOf("orders")
			ready := got.GetCondition(xpv1.TypeReady)
			if item = s.item(); meta.WasDeleted(item) || item.Annotations[meta.AnnotationKeyReclaimedFrom] != "" ||
				ready.Reason != xpv1.ReasonDeleting || !strings.Contains(ready.Message, "ask your platform team to remove the annotation") ||
				xpv1.FailureOf(got).Reason != xpv1.ReasonProtected {
				s.t.Errorf("item %+v, claim %+v", item.ObjectMeta, got.Status)
			}
			s.wantEvents(event.Reason(xpv1.ReasonProtected))
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
			s.pass()
			if err := s.checkReleased(); err != nil || s.get("orders", claim) {
				s.t.Errorf("the platform team keeps the data: %v", err)
			}
		},
	})
}
