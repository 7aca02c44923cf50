// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimdefaulting"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const poll = 10 * time.Second

// by has a hand reconcile with a reconciler that gave a class to a first claim, and so knows all classes.
func (s *classStage) by(newReconciler func(manager.Manager) reconcile.Reconciler, first *shop.ItemClaim) *hand {
	s.t.Helper()
	h := &hand{classStage: s}
	s.start(func(mgr manager.Manager) error {
		h.mgr, h.reconciler = mgr, newReconciler(mgr)
		return nil
	})
	h.create(first)
	h.Eventually(h.t, "the first claim has a class", func(ctx context.Context) error {
		_, err := h.pass(first)
		if err = errors.Join(err, h.Client.Get(ctx, client.ObjectKeyFromObject(first), first)); err == nil && first.Spec.ClassReference == nil {
			err = errors.New("it has none")
		}
		return err
	})
	h.take(writes)
	return h
}

func (s *classStage) scheduling(class resource.ClassKind) *hand {
	s.t.Helper()
	first, gadget := labels.Set{"for": "first"}, labels.Set{"for": "first-gadget"}
	s.create(labelled(s.item("first"), first), labelled(s.gadget("first"), gadget))
	if class == gadgetClass {
		first = gadget
	}
	return s.by(func(mgr manager.Manager) reconcile.Reconciler {
		return claimscheduling.NewReconciler(mgr, itemClaims, class)
	},
		s.claim("first", first))
}

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
func (s *stage) inTier(tier string) {
	s.t.Helper()
	ns := &corev1.Namespace{}
	s.get(s.Namespace, ns)
	s.edit(ns, func() { ns.Labels["tier"] = tier })
}

// A choice is what a claim comes to in one pass.
type choice struct {
	change func(*shop.ItemClaim)
	want   string        // class, of items unless it has another prefix; empty for none
	after  time.Duration // until the next pass
	asks   bool          // for the labels of the namespace
}

// makes checks choices of claims that select by labels, or want the default class.
func (h *hand) makes(t *testing.T, chooses labels.Set, choices map[string]choice) {
	t.Helper()
	for name, tc := range choices {
		t.Run(name, func(t *testing.T) {
			claim := h.claim("", chooses)
			if tc.change != nil {
				tc.change(claim)
			}
			h.create(claim)
			if claim.Finalizers != nil {
				h.delete(claim)
			}
			h.take(all)
			h.passes(claim, tc.after)
			asked := h.take(func(r string) bool { return strings.HasPrefix(r, "GET /api/v1/namespaces/NS") })
			if (len(asked) > 0) != tc.asks {
				t.Errorf("requests: %s", asked)
			}
			want := (*corev1.ObjectReference)(nil)
			if gadget, is := strings.CutPrefix(tc.want, "gadget "); is {
				want = h.of(shop.GadgetClassGroupVersionKind, gadget)
			} else if tc.want != "" {
				want = h.of(shop.ItemClassGroupVersionKind, tc.want)
			}
			h.wants(claim, want)
		})
	}
}

// The classes that claims with a selector get, also where some are for certain namespaces only.
func TestScheduling(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.inTier("gold")
	size := func(size string) labels.Set { return labels.Set{"size": size} }
	bad := s.item("d-bad")
	bad.SpecTemplate.Claims.NamespaceSelector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "no label", Operator: "Exists"}}}
	s.create(
		labelled(s.item("b"), size("small")), labelled(s.item("a"), size("small")), labelled(s.gadget("z"), size("large")),
		labelled(only(s.item("a-silver"), "silver"), size("some")), labelled(only(s.item("b-gold"), "gold"), size("some")),
		labelled(s.item("c-all"), size("some")), labelled(s.item("all"), size("most")), labelled(only(s.item("gold"), "gold"), size("most")),
		labelled(only(s.item("alone"), "silver"), size("alone")), labelled(only(s.item("closed-1"), "silver"), size("closed")),
		labelled(only(s.item("closed-2"), "bronze"), size("closed")), labelled(bad, size("wrong")),
		labelled(only(s.item("e-gold"), "gold"), size("wrong")), labelled(only(s.gadget("a"), "silver"), size("mixed")),
		labelled(s.item("z"), size("mixed")),
	)
	expression := func(key string, op metav1.LabelSelectorOperator, values ...string) func(*shop.ItemClaim) {
		return func(c *shop.ItemClaim) {
			c.Spec.ClassSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
		}
	}
	of := func(name string) func(*shop.ItemClaim) {
		return func(c *shop.ItemClaim) { c.Spec.ClassSelector.MatchLabels = size(name) }
	}
	s.scheduling(itemClass).makes(t, size("small"), map[string]choice{
		"the first that matches by name (K28, R235, R236, R237, R241)": {want: "a"},
		"a claim that names a class (R243, R238)": {
			change: func(c *shop.ItemClaim) { c.Spec.ClassReference = s.of(shop.ItemClassGroupVersionKind, "b") }, want: "b"},
		"a claim that names its resource (R243, R239)": {
			change: func(c *shop.ItemClaim) { c.Spec.ResourceReference = s.of(shop.ItemGroupVersionKind, "i") }},
		"a claim without a selector (R243, R235)": {change: func(c *shop.ItemClaim) { c.Spec.ClassSelector = nil }},
		"a claim that is being deleted (R244)":    {change: func(c *shop.ItemClaim) { c.Finalizers = []string{"test.bowline.dev/stay"} }},
		"nothing matches, look again (R240)":      {change: of("huge"), after: poll},
		"an expression (R246)":                    {change: expression("size", "In", "tiny", "small"), want: "a"},
		"an expression that excludes (R246)": {change: func(c *shop.ItemClaim) {
			expression("size", "DoesNotExist")(c)
			c.Spec.ClassSelector.MatchLabels = labels.Set{"for": "first"}
		}, want: "first"},
		"the one of another kind comes first (R241, N10)":                    {change: expression("size", "In", "small", "large"), after: poll},
		"a selector that cannot be understood (N10)":                         {change: expression("no label", "Exists"), after: poll},
		"the first that is for the claim's namespace (N10, R241)":            {change: of("some"), want: "b-gold", asks: true},
		"the first is for all (N10, R241)":                                   {change: of("most"), want: "all"},
		"the only one is chosen, and reports NotAllowed (R236, R237, N10)":   {change: of("alone"), want: "alone"},
		"the first is chosen if none is for the namespace (R236, R237, N10)": {change: of("closed"), want: "closed-1", asks: true},
		"a selector that cannot be understood admits no claim (N10)":         {change: of("wrong"), want: "e-gold", asks: true},
		"that of another kind is not for the namespace (N10, R241)":          {change: of("mixed"), want: "z", asks: true},
	})
}

func TestEmptySelector(t *testing.T) {
	t.Parallel()
	newClassStage(t).scheduling(gadgetClass).makes(t, labels.Set{}, map[string]choice{
		"it matches every class, the first of which is a gadget's (R246, R250)": {want: "gadget first"},
	})
}

func TestDefaulting(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.create(byDefault(s.item("default"), "true"), byDefault(s.item("almost"), "yes"), byDefault(s.gadget("not"), "TRUE"), s.item("plain"))
	h := s.by(func(mgr manager.Manager) reconcile.Reconciler {
		return claimdefaulting.NewReconciler(mgr, itemClaims, itemClass)
	},
		s.claim("first", nil))
	selects := func(of labels.Set) func(*shop.ItemClaim) {
		return func(c *shop.ItemClaim) { c.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: of} }
	}
	h.makes(t, nil, map[string]choice{
		"the one whose annotation is true (K28, R247, R248, R252)": {want: "default"},
		"a claim with a selector (R253, R250, R247)":               {change: selects(labels.Set{"no": "such"})},
		"a claim with an empty selector (R253, R250)":              {change: selects(nil)},
		"a claim that names a class (R253, R247)": {
			change: func(c *shop.ItemClaim) { c.Spec.ClassReference = s.of(shop.GadgetClassGroupVersionKind, "not") }, want: "gadget not"},
		"a claim that names its resource (R253, R247)": {
			change: func(c *shop.ItemClaim) { c.Spec.ResourceReference = s.of(shop.ItemGroupVersionKind, "i") }},
		"a claim that is being deleted (R253)": {change: func(c *shop.ItemClaim) { c.Finalizers = []string{"test.bowline.dev/stay"} }},
	})
}

// Which namespaces a class is for counts as it is when a class is chosen, as do the labels of the namespace.
func TestNamespacesChange(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	first := only(s.item("a"), "silver")
	small := labels.Set{"size": "small"}
	s.create(labelled(first, small), labelled(s.item("b"), small))
	h := s.scheduling(itemClass)
	h.makes(t, small, map[string]choice{"not in the tier (N10)": {want: "b", asks: true}})
	s.inTier("silver")
	h.makes(t, small, map[string]choice{"the namespace comes into the tier (N10)": {want: "a", asks: true}})
	s.refuse(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/api/v1/namespaces/"+s.Namespace) })
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
	i := 0
	s.Eventually(t, "the class closes, and a claim gets the other (N10)", func(ctx context.Context) error {
		i++
		claim := s.claim(fmt.Sprint("after-", i), small)
		s.create(claim)
		if _, err := h.pass(claim); err != nil {
			return err
		}
		return s.gets(claim, s.of(shop.ItemClassGroupVersionKind, "b"))(ctx)
	})
}

// What a pass writes, and that a pass over what is as it should be writes nothing.
func TestWrites(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	h := s.scheduling(itemClass)
	claim := s.claim("one", labels.Set{"for": "first"})
	s.create(claim)
	pass := func(t *testing.T, want ...string) {
		t.Helper()
		h.passes(claim, 0)
		if diff := cmp.Diff(want, s.take(writes)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	t.Run("one claim and one event, and nothing of the class is made (R245)", func(t *testing.T) {
		pass(t, "PATCH /apis/shop.test.bowline.dev/v1/namespaces/NS/itemclaims/one", "POST /api/v1/namespaces/NS/events")
	})
	t.Run("nothing is left to do (R1, N13)", func(t *testing.T) { pass(t) })
	t.Run("an event names the class (R237)", func(t *testing.T) {
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

	s.refuse(func(r *http.Request) bool { return r.Method == http.MethodPatch })
	claim = s.claim("troubled", labels.Set{"for": "first"})
	s.create(claim)
	if _, err := h.pass(claim); err == nil || !strings.Contains(err.Error(), "writing the class of the claim") {
		t.Errorf("a refused write ends with %v", err)
	}
	s.refuse(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/events") }) // which does not matter
	h.passes(claim, 0)
	s.wants(claim, s.of(shop.ItemClassGroupVersionKind, "first"))
}

// Another client writes to the claim after it was read and before the class is written.
func TestConflict(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		theirs func(*shop.ItemClaim, *corev1.ObjectReference)
		want   string // the class in the end
	}{
		"another scheduler was first (R242, R17)": {
			func(c *shop.ItemClaim, ref *corev1.ObjectReference) { c.Spec.ClassReference = ref }, "theirs"},
		"another client wrote something else (R17)": {
			func(c *shop.ItemClaim, _ *corev1.ObjectReference) { c.Annotations = map[string]string{"a": "b"} }, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClassStage(t)
			h := s.scheduling(itemClass)
			claim := s.claim("contested", labels.Set{"for": "first"})
			s.create(claim)
			var once sync.Once
			s.onRequest(func(r *http.Request) error {
				if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/contested") {
					once.Do(func() { s.edit(claim, func() { tc.theirs(claim, s.of(shop.ItemClassGroupVersionKind, "theirs")) }) })
				}
				return nil
			})
			if got, err := h.pass(claim); err != nil || got.RequeueAfter <= 0 {
				t.Errorf("a conflict ends the pass with %v, %v", got, err)
			}
			h.passes(claim, 0)
			s.wants(claim, s.of(shop.ItemClassGroupVersionKind, tc.want))
		})
	}
}
