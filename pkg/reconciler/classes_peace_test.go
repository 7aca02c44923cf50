// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// All who write to claims run together, and each claim that waits has one who speaks for it.
func TestPeace(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.create(labelled(s.item("class"), labels.Set{"size": "small"}))
	t.Cleanup(s.removeItems)
	s.start(func(mgr manager.Manager) error {
		if err := everything(mgr); err != nil {
			return err
		}
		return claimbinding.NewReconciler(mgr, itemClaims, itemClass, resource.ManagedKind(shop.ItemGroupVersionKind)).SetupWithManager(mgr)
	})
	strange := shop.GroupVersion.WithKind("StrangeClass")
	made := map[*shop.ItemClaim]string{}
	for i, tc := range []struct {
		change func(*shop.ItemClaim)
		reason string
	}{
		{func(*shop.ItemClaim) {}, "Binding"},
		{func(c *shop.ItemClaim) { c.Spec.ClassSelector.MatchLabels = labels.Set{"size": "huge"} }, "NoMatchingClass"},
		{func(c *shop.ItemClaim) { c.Spec.ClassSelector = nil }, "NoMatchingClass"},
		{func(c *shop.ItemClaim) { c.Spec.ClassReference = s.of(strange, "x") }, "ClassNotFound"},
		{func(c *shop.ItemClaim) { c.Spec.ClassReference = s.of(shop.ItemClassGroupVersionKind, "nowhere") }, "ClassNotFound"},
		{func(c *shop.ItemClaim) { c.Spec.ResourceReference = s.of(shop.ItemGroupVersionKind, "nowhere") }, "Binding"},
		{func(c *shop.ItemClaim) { c.Spec.ResourceReference = s.of(shop.GroupVersion.WithKind("Strange"), "x") }, "ClassNotFound"},
		{func(c *shop.ItemClaim) {
			c.Spec.ClassReference, c.Spec.ResourceReference = s.of(strange, "x"), s.of(shop.ItemGroupVersionKind, "nowhere")
		}, "Binding"},
	} {
		c := s.claim(fmt.Sprintf("claim-%d", i), labels.Set{"size": "small"})
		tc.change(c)
		s.create(c)
		made[c] = tc.reason
	}
	for c, reason := range made {
		s.Eventually(t, "it says why it waits (N10)", s.shows(c, reason))
	}
	t.Run("then all is quiet (N10, N13)", func(t *testing.T) {
		quiet := time.Now()
		s.take(writes)
		s.Eventually(t, "nothing was written for a second", func(context.Context) error {
			if got := s.take(writes); len(got) > 0 {
				quiet = time.Now()
				return fmt.Errorf("they write: %s", strings.Join(got, ", "))
			}
			if rest := time.Second - time.Since(quiet); rest > 0 {
				return fmt.Errorf("quiet, but not for long")
			}
			return nil
		})
	})
}

// removeItems removes what was made for claims of this test, which does not carry its label.
func (s *classStage) removeItems() {
	list := &shop.ItemList{}
	if err := s.Client.List(context.Background(), list); err != nil {
		s.t.Error(err)
	}
	for i := range list.Items {
		if ref := list.Items[i].GetClaimReference(); ref != nil && ref.Namespace == s.Namespace {
			_ = s.Client.Delete(context.Background(), &list.Items[i])
		}
	}
}
