// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
)

// only makes a class one for namespaces with the label.
func only[C *shop.ItemClass | *shop.GadgetClass](class C, tier string) C {
	selector := &metav1.LabelSelector{MatchLabels: labels.Set{"tier": tier}}
	switch c := any(class).(type) {
	case *shop.ItemClass:
		c.SpecTemplate.Claims.NamespaceSelector = selector
	case *shop.GadgetClass:
		c.SpecTemplate.Claims.NamespaceSelector = selector
	}
	return class
}

// inTier labels the test's namespace.
func (s *classStage) inTier(tier string) {
	s.t.Helper()
	ns := &corev1.Namespace{}
	if err := s.Client.Get(s.t.Context(), types.NamespacedName{Name: s.Namespace}, ns); err != nil {
		s.t.Fatal(err)
	}
	s.edit(ns, func() { ns.Labels["tier"] = tier })
}

func aboutNamespaces(request string) bool {
	return strings.HasPrefix(request, "GET /api/v1/namespaces/NS")
}

// Of several classes that match, those for other namespaces do not count.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.inTier("gold")
	bad := s.item("d-bad")
	bad.SpecTemplate.Claims.NamespaceSelector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}}}
	small, large, alone, closed, wrong, mixed := labels.Set{"size": "small"}, labels.Set{"size": "large"}, labels.Set{"size": "alone"},
		labels.Set{"size": "closed"}, labels.Set{"size": "wrong"}, labels.Set{"size": "mixed"}
	s.create(
		labelled(only(s.item("a-silver"), "silver"), small), labelled(only(s.item("b-gold"), "gold"), small), labelled(s.item("c-all"), small),
		labelled(s.item("all"), large), labelled(only(s.item("gold"), "gold"), large),
		labelled(only(s.item("alone"), "silver"), alone),
		labelled(only(s.item("closed-1"), "silver"), closed), labelled(only(s.item("closed-2"), "bronze"), closed),
		labelled(bad, wrong), labelled(only(s.item("e-gold"), "gold"), wrong),
		labelled(only(s.gadget("a"), "silver"), mixed), labelled(s.item("z"), mixed),
	)
	h := scheduling(s, itemClass)
	for name, tc := range map[string]struct {
		wants labels.Set
		class string
		asks  bool // whether the labels of the namespace have to be read
	}{
		"the first that is for the claim's namespace (N10, R241)":            {small, "b-gold", true},
		"the first is for all (N10, R241)":                                   {large, "all", false},
		"the only one is chosen, and says NotAllowed (R236, R237, N10)":      {alone, "alone", false},
		"the first is chosen if none is for the namespace (R236, R237, N10)": {closed, "closed-1", true},
		"a selector that cannot be understood is for nobody (N10)":           {wrong, "e-gold", true},
		"that of another kind is not for the namespace (N10, R241)":          {mixed, "z", true},
	} {
		t.Run(name, func(t *testing.T) {
			claim := s.claim("", tc.wants)
			s.create(claim)
			s.take(writes)
			h.passes(claim, 0)
			if got := s.take(aboutNamespaces); (len(got) > 0) != tc.asks {
				t.Errorf("requests: %s", got)
			}
			s.wants(claim, s.of(shop.ItemClassGroupVersionKind, tc.class))
		})
	}
}

// Which namespaces a class is for counts as it is when a class is chosen, as does where a claim is.
func TestNamespacesChange(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	first := only(s.item("a"), "silver")
	small := labels.Set{"size": "small"}
	s.create(labelled(first, small), labelled(s.item("b"), small))
	h := scheduling(s, itemClass)
	gets := func(t *testing.T, name, class string) {
		t.Helper()
		claim := s.claim(name, small)
		s.create(claim)
		h.passes(claim, 0)
		s.wants(claim, s.of(shop.ItemClassGroupVersionKind, class))
	}
	t.Run("not in the tier (N10)", func(t *testing.T) { gets(t, "before", "b") })
	s.inTier("silver")
	t.Run("the namespace comes into the tier (N10)", func(t *testing.T) { gets(t, "inside", "a") })
	s.onRequest(func(req *http.Request) error {
		if strings.HasSuffix(req.URL.Path, "/api/v1/namespaces/"+s.Namespace) {
			return errors.New("refused by the test")
		}
		return nil
	})
	t.Run("labels that cannot be read choose nothing, and it is tried again (N10)", func(t *testing.T) {
		claim := s.claim("unread", small)
		s.create(claim)
		if _, err := h.pass(claim); err == nil || !strings.Contains(err.Error(), "reading the labels of the claim's namespace") {
			t.Errorf("the error is %v", err)
		}
		s.wants(claim, nil)
		s.onRequest(nil)
		h.passes(claim, 0)
		s.wants(claim, s.of(shop.ItemClassGroupVersionKind, "a"))
	})
	s.edit(first, func() { only(first, "gold") })
	t.Run("the class closes (N10)", func(t *testing.T) {
		i := 0
		s.Eventually(t, "a claim gets the other class", func(ctx context.Context) error {
			i++
			claim := s.claim(fmt.Sprint("after-", i), small)
			s.create(claim)
			if _, err := h.pass(claim); err != nil {
				return err
			}
			return s.gets(claim, s.of(shop.ItemClassGroupVersionKind, "b"))(ctx)
		})
	})
}
