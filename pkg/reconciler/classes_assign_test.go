// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimdefaulting"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const poll = 10 * time.Second

// scheduling makes a scheduler, which is ready once it gave a class to a first claim.
func scheduling(s *classStage, class resource.ClassKind) *hand {
	s.t.Helper()
	h := &hand{classStage: s}
	s.start(func(mgr manager.Manager) error {
		h.mgr = mgr
		h.reconciler = claimscheduling.NewReconciler(mgr, itemClaims, class)
		return nil
	})
	first := labels.Set{"for": "first"}
	s.create(labelled(s.item("first"), first), labelled(s.gadget("first"), labels.Set{"for": "first-gadget"}))
	if class == gadgetClass {
		first["for"] = "first-gadget"
	}
	h.settled(s.claim("first", first))
	return h
}

// defaulting makes a defaulter, which knows all classes.
func defaulting(s *classStage, class resource.ClassKind) *hand {
	s.t.Helper()
	h := &hand{classStage: s}
	s.start(func(mgr manager.Manager) error {
		h.mgr = mgr
		h.reconciler = claimdefaulting.NewReconciler(mgr, itemClaims, class)
		return nil
	})
	return h
}

// settled lets the reconciler look at a claim until that has a class.
func (h *hand) settled(claim *shop.ItemClaim) {
	h.t.Helper()
	h.create(claim)
	h.Eventually(h.t, claim.Name+" has a class", func(ctx context.Context) error {
		if _, err := h.pass(claim); err != nil {
			return err
		}
		if err := h.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Spec.ClassReference == nil {
			return errors.New("it has none")
		}
		return nil
	})
	h.take(writes)
}

func TestScheduling(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	small, none := labels.Set{"size": "small"}, (*corev1.ObjectReference)(nil)
	s.create(labelled(s.item("b"), small), labelled(s.item("a"), small), labelled(s.gadget("z"), labels.Set{"size": "large"}))
	h := scheduling(s, itemClass)
	chosen := s.of(shop.ItemClassGroupVersionKind, "a")
	explicit := s.of(shop.ItemClassGroupVersionKind, "b")
	expression := func(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	for name, tc := range map[string]struct {
		change func(*shop.ItemClaim)
		want   *corev1.ObjectReference
		after  time.Duration
	}{
		"the first that matches by name (K28, R235, R236, R237, R241)": {want: chosen},
		"a claim that names a class (R243, R238)":                      {func(c *shop.ItemClaim) { c.Spec.ClassReference = explicit }, explicit, 0},
		"a claim that names its resource (R243, R239)": {
			func(c *shop.ItemClaim) { c.Spec.ResourceReference = s.of(shop.ItemGroupVersionKind, "i") }, none, 0},
		"a claim without a selector (R243, R235)": {func(c *shop.ItemClaim) { c.Spec.ClassSelector = nil }, none, 0},
		"a claim that is being deleted (R244)":    {func(c *shop.ItemClaim) { c.Finalizers = []string{"test.bowline.dev/stay"} }, none, 0},
		"nothing matches, look again (R240)": {
			func(c *shop.ItemClaim) { c.Spec.ClassSelector.MatchLabels = labels.Set{"size": "huge"} }, none, poll},
		"an expression (R246)": {
			func(c *shop.ItemClaim) { c.Spec.ClassSelector = expression("size", "In", "tiny", "small") }, chosen, 0},
		"an expression that excludes (R246)": {func(c *shop.ItemClaim) {
			c.Spec.ClassSelector = expression("size", "DoesNotExist")
			c.Spec.ClassSelector.MatchLabels = labels.Set{"for": "first"}
		}, s.of(shop.ItemClassGroupVersionKind, "first"), 0},
		"the one of another kind comes first (R241, N10)": {
			func(c *shop.ItemClaim) { c.Spec.ClassSelector = expression("size", "In", "small", "large") }, none, poll},
		"a selector that cannot be understood (N10)": {
			func(c *shop.ItemClaim) { c.Spec.ClassSelector = expression("size", "Resembles", "small") }, none, poll},
	} {
		t.Run(name, func(t *testing.T) {
			claim := s.claim("", small)
			if tc.change != nil {
				tc.change(claim)
			}
			s.create(claim)
			if claim.Finalizers != nil {
				s.delete(claim)
			}
			got, err := h.pass(claim)
			if err != nil || got.RequeueAfter != tc.after {
				t.Errorf("%v, %v, want %v", got, err, tc.after)
			}
			s.wants(claim, tc.want)
		})
	}
}

// An empty selector is one: it matches every class, the first of which is a gadget's.
func TestEmptySelector(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	h := scheduling(s, gadgetClass)
	t.Run("an empty selector matches every class (R246, R250)", func(t *testing.T) {
		claim := s.claim("any", labels.Set{})
		s.create(claim)
		h.passes(claim, 0)
		s.wants(claim, s.of(shop.GadgetClassGroupVersionKind, "first"))
	})
}

func TestDefaulting(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.create(byDefault(s.item("default"), "true"), byDefault(s.item("almost"), "yes"), byDefault(s.gadget("not"), "TRUE"), s.item("plain"))
	h := defaulting(s, itemClass)
	h.settled(s.claim("first", nil))
	none, other := (*corev1.ObjectReference)(nil), s.of(shop.GadgetClassGroupVersionKind, "not")
	for name, tc := range map[string]struct {
		change func(*shop.ItemClaim)
		want   *corev1.ObjectReference
	}{
		"the one whose annotation is true (K28, R247, R248, R252)": {want: s.of(shop.ItemClassGroupVersionKind, "default")},
		"a claim with a selector (R253, R250, R247)": {
			func(c *shop.ItemClaim) {
				c.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: labels.Set{"no": "such"}}
			}, none},
		"a claim with an empty selector (R253, R250)": {
			func(c *shop.ItemClaim) { c.Spec.ClassSelector = &metav1.LabelSelector{} }, none},
		"a claim that names a class (R253, R247)": {func(c *shop.ItemClaim) { c.Spec.ClassReference = other }, other},
		"a claim that names its resource (R253, R247)": {
			func(c *shop.ItemClaim) { c.Spec.ResourceReference = s.of(shop.ItemGroupVersionKind, "i") }, none},
		"a claim that is being deleted (R253)": {func(c *shop.ItemClaim) { c.Finalizers = []string{"test.bowline.dev/stay"} }, none},
	} {
		t.Run(name, func(t *testing.T) {
			claim := s.claim("", nil)
			if tc.change != nil {
				tc.change(claim)
			}
			s.create(claim)
			if claim.Finalizers != nil {
				s.delete(claim)
			}
			h.passes(claim, 0)
			s.wants(claim, tc.want)
		})
	}
}

// What a pass writes, and that a pass over what is as it should be writes nothing.
func TestWrites(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	h := scheduling(s, itemClass)
	claim := s.claim("one", labels.Set{"for": "first"})
	s.create(claim)
	pass := func(t *testing.T, want ...string) {
		t.Helper()
		s.take(writes)
		h.passes(claim, 0)
		got := s.take(writes)
		for i := range got {
			got[i] = strings.Replace(got[i], "/apis/shop.test.bowline.dev/v1/namespaces/NS", "", 1)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	t.Run("one claim and one event, and nothing of the class is made (R245)", func(t *testing.T) {
		pass(t, "PATCH /itemclaims/one", "POST /api/v1/namespaces/NS/events")
	})
	t.Run("nothing is left to do (R1, N13)", func(t *testing.T) { pass(t) })
	t.Run("an event tells which class it is (R237)", func(t *testing.T) {
		events := &corev1.EventList{}
		if err := s.Client.List(t.Context(), events, client.InNamespace(s.Namespace)); err != nil {
			t.Fatal(err)
		}
		for _, e := range events.Items {
			if e.InvolvedObject.UID == claim.UID && e.Reason == "ClassSelected" &&
				strings.Contains(e.Message, "ItemClass.shop.test.bowline.dev "+s.Prefix+"first") &&
				e.Source.Component == "claimscheduling/scheduler.itemclaim.item.shop.test.bowline.dev" {
				return
			}
		}
		t.Errorf("got %+v", events.Items)
	})
	s.delete(claim)
	t.Run("a claim that is gone (R16)", func(t *testing.T) { pass(t) })
}

// Somebody writes to the claim after it was read and before the class is written.
func TestConflict(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		theirs func(*shop.ItemClaim, *corev1.ObjectReference)
		want   string // the class in the end
	}{
		"another scheduler was first (R242, R17)": {
			func(c *shop.ItemClaim, ref *corev1.ObjectReference) { c.Spec.ClassReference = ref }, "theirs"},
		"somebody wrote something else (R17)": {
			func(c *shop.ItemClaim, _ *corev1.ObjectReference) { c.Annotations = map[string]string{"a": "b"} }, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClassStage(t)
			h := scheduling(s, itemClass)
			claim := s.claim("contested", labels.Set{"for": "first"})
			s.create(claim)
			var once sync.Once
			s.onRequest(func(req *http.Request) error {
				if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/contested") {
					once.Do(func() { s.edit(claim, func() { tc.theirs(claim, s.of(shop.ItemClassGroupVersionKind, "theirs")) }) })
				}
				return nil
			})
			got, err := h.pass(claim)
			if err != nil || got.RequeueAfter <= 0 {
				t.Errorf("a conflict ends the pass with %v, %v", got, err)
			}
			h.passes(claim, 0)
			s.wants(claim, s.of(shop.ItemClassGroupVersionKind, tc.want))
		})
	}
}

// A request that fails is tried again, and an event that fails does not matter.
func TestTroubles(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	h := scheduling(s, itemClass)
	claim := s.claim("troubled", labels.Set{"for": "first"})
	s.create(claim)
	s.onRequest(func(req *http.Request) error {
		if req.Method == http.MethodPatch {
			return errors.New("refused by the test")
		}
		return nil
	})
	if _, err := h.pass(claim); err == nil || !strings.Contains(err.Error(), "writing the class of the claim") {
		t.Errorf("the error is %v", err)
	}
	s.onRequest(func(req *http.Request) error {
		if strings.Contains(req.URL.Path, "/events") {
			return errors.New("refused by the test")
		}
		return nil
	})
	h.passes(claim, 0)
	s.wants(claim, s.of(shop.ItemClassGroupVersionKind, "first"))
}
