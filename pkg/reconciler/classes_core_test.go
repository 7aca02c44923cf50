// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
)

// A judge is the core controller, pass by pass, and the clock that it goes by.
type judge struct {
	*hand
	now atomic.Int64
}

const patience = 10 * time.Second

// judging makes a core controller, which knows all classes.
func judging(s *classStage) *judge {
	s.t.Helper()
	j := &judge{hand: &hand{classStage: s}}
	s.start(func(mgr manager.Manager) error {
		r := claim.NewReconciler(mgr, itemClaims)
		r.Recorder, r.Patience, r.Now = s.events, patience, func() time.Time { return time.Unix(j.now.Load(), 0) }
		j.mgr, j.reconciler = mgr, r
		return nil
	})
	first := s.claim("first", labels.Set{"no": "such"})
	s.create(first)
	s.Eventually(s.t, "the first claim reports why (N10)", func(ctx context.Context) error {
		if _, err := j.pass(first); err != nil {
			return err
		}
		return s.shows(first, "NoMatchingClass")(ctx)
	})
	s.take(writes)
	s.events.Take()
	return j
}

// many are more labels than a message has room for.
func many() labels.Set {
	set := labels.Set{}
	for i := range 9000 {
		set[strconv.Itoa(i)] = "a"
	}
	return set
}

// selecting, named and begun change claims.
func selecting(of labels.Set) func(*shop.ItemClaim) {
	return func(c *shop.ItemClaim) { c.Spec.ClassSelector.MatchLabels = of }
}

// named names a class and a managed resource by their kinds, unless these are empty.
func (s *classStage) named(class, mg string) func(*shop.ItemClaim) {
	return func(c *shop.ItemClaim) {
		if class != "" {
			c.Spec.ClassReference = s.of(shop.GroupVersion.WithKind(class), "nowhere")
		}
		if mg != "" {
			c.Spec.ResourceReference = s.of(shop.GroupVersion.WithKind(mg), "nowhere")
		}
	}
}

func begun(c *shop.ItemClaim) { c.Finalizers = []string{meta.FinalizerClaim} }

// Every verdict on a claim that no controller serves.
func TestJudgement(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.create(labelled(s.item("class"), labels.Set{"size": "small"}))
	j := judging(s)
	huge := selecting(labels.Set{"size": "huge"})
	for name, tc := range map[string]struct {
		change func(*shop.ItemClaim)
		reason string // none: the claim is left alone
		words  []string
		after  time.Duration
	}{
		"no class has the labels (N10)": {huge, "NoMatchingClass", []string{"size=huge", "kubectl get classes --show-labels"}, 0},
		"no class has the many labels (N10)": {selecting(many()), "NoMatchingClass",
			[]string{"0=a", "…)", "kubectl get classes --show-labels"}, 0},
		"the selector cannot be understood (N10)": {func(c *shop.ItemClaim) {
			c.Spec.ClassSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "no label", Operator: "Exists"}}
		}, "NoMatchingClass", []string{"spec.classSelector is invalid", "no label"}, 0},
		"there is no default (N10)": {func(c *shop.ItemClaim) { c.Spec.ClassSelector = nil }, "NoMatchingClass",
			[]string{"no default class", "spec.classSelector"}, 0},
		"a class of a kind without a provider (N10)": {s.named("StrangeClass", ""), "ClassNotFound",
			[]string{"spec.classRef", "StrangeClass.shop.test.bowline.dev", "install the provider"}, 0},
		"a managed resource of a kind without a provider (N10)": {s.named("", "Strange"), "ResourceNotFound",
			[]string{"spec.resourceRef", "Strange.shop.test.bowline.dev"}, 0},
		"a class that is offered, whether it exists or not, is the binder's (N10)": {s.named("ItemClass", ""), "", nil, 0},
		"a managed resource that is offered is the binder's (N10)":                 {s.named("", "Gadget"), "", nil, 0},
		"a class that is offered in another version is the binder's (N10)": {func(c *shop.ItemClaim) {
			c.Spec.ClassReference = s.of(shop.ItemClassGroupVersionKind.GroupKind().WithVersion("v0"), "class")
		}, "", nil, 0},
		"the managed resource counts, and is offered (N10)":     {s.named("StrangeClass", "Item"), "", nil, 0},
		"the managed resource counts, and is not offered (N10)": {s.named("ItemClass", "Strange"), "ResourceNotFound", []string{"spec.resourceRef"}, 0},
		"a claim that a binder began with gets time (N10)": {func(c *shop.ItemClaim) { begun(c); s.named("StrangeClass", "")(c) },
			"", nil, patience},
		"a claim that a binder began with and that names nothing now (N10)": {func(c *shop.ItemClaim) { begun(c); huge(c) },
			"NoMatchingClass", nil, 0},
		"a claim that gets a class in a moment (N10)": {func(*shop.ItemClaim) {}, "", nil, patience},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.claim("", labels.Set{"size": "small"})
			tc.change(c)
			s.create(c)
			j.passes(c, tc.after)
			j.passes(c, tc.after) // changes nothing
			if err := s.shows(c, tc.reason, tc.words...)(t.Context()); err != nil {
				t.Error(err)
			}
			j.reported(t, c, tc.reason)
		})
	}
}

// reported wants one write and one event of a reason, or neither if there is none.
func (j *judge) reported(t *testing.T, c *shop.ItemClaim, reason string) {
	t.Helper()
	want := 0
	if reason != "" {
		want = 1
		if c.GetBindingPhase() != xpv1.BindingPhaseUnbound {
			t.Errorf("it is %q", c.GetBindingPhase())
		}
	}
	if got := j.take(writes); len(got) != want {
		t.Errorf("%d writes, want %d: %v (N13)", len(got), want, got)
	}
	if got := j.events.Take(); len(got) != want || want > 0 && string(got[0]) != reason {
		t.Errorf("events %v, want %d", got, want)
	}
}

// Claims that a binder began with and that no controller serves now.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	j := judging(s)
	strange := s.named("StrangeClass", "")
	for name, tc := range map[string]struct {
		change func(*shop.ItemClaim)
		lives  bool
		kept   bool
		after  string // what it shows after a while, if it is kept
	}{
		"a deleted one that names nothing is released (N10, R279)":                          {change: func(*shop.ItemClaim) {}},
		"a deleted one of a class without a provider is released after a while (N10, R279)": {change: strange},
		"a deleted one that names a resource of such a kind reports why it stays (N10, R279)": {
			change: s.named("", "Strange"), kept: true, after: "ResourceNotFound"},
		"a deleted one that a binder serves is the binder's (N10, R279)": {change: s.named("ItemClass", ""), kept: true},
		"a living one of a class without a provider reports that after a while (N10)": {
			change: strange, lives: true, kept: true, after: "ClassNotFound"},
		"a deleted one that others keep, too, is not released (N37)": {change: func(c *shop.ItemClaim) {
			strange(c)
			c.Finalizers = append(c.Finalizers, "test.bowline.dev/stay")
		}, kept: true, after: "Deleting"},
		"a deleted one that others keep is not ready (R282)": {change: func(c *shop.ItemClaim) {
			c.Finalizers = []string{"test.bowline.dev/stay"}
			c.Status.BindingPhase, c.Status.Conditions = xpv1.BindingPhaseBound, []xpv1.Condition{xpv1.Available()}
		}, kept: true, after: "Deleting"},
		"a living one that is bound is left alone (N10)": {
			change: func(c *shop.ItemClaim) { strange(c); c.Status.BindingPhase = xpv1.BindingPhaseBound }, lives: true, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.claim("", labels.Set{"size": "huge"})
			begun(c)
			tc.change(c)
			status, begun := c.Status, meta.FinalizerExists(c, meta.FinalizerClaim)
			s.create(c)
			if c.Status = status; status.BindingPhase != "" {
				if err := s.Client.Status().Update(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			if !tc.lives {
				s.delete(c)
			}
			var err error
			for range 2 {
				if _, err := j.pass(c); err != nil {
					t.Error(err)
				}
				if err = s.Client.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
					break
				}
				j.now.Add(int64(patience / time.Second))
			}
			if gone := apierrors.IsNotFound(err); gone == tc.kept || tc.kept && begun != meta.FinalizerExists(c, meta.FinalizerClaim) {
				t.Errorf("gone: %v, finalizers %v", gone, c.Finalizers)
			}
			if got := c.GetCondition(xpv1.TypeReady).Reason; tc.kept && string(got) != tc.after {
				t.Errorf("it shows %q", got)
			}
		})
	}
}

// No controller assigns the class that the claim should get: its provider does not run.
func TestPatience(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.create(labelled(s.item("class"), labels.Set{"size": "small", "zone": "a"}))
	j := judging(s)
	c := s.claim("waits", labels.Set{"size": "small"})
	s.create(c)
	t.Run("first it waits (N10)", func(t *testing.T) {
		j.passes(c, patience)
		j.now.Add(4)
		j.passes(c, patience-4*time.Second)
		if err := s.shows(c, "")(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("then it reports that (N10)", func(t *testing.T) {
		j.now.Add(6)
		j.passes(c, 0)
		if err := s.shows(c, "Binding", "ItemClass.shop.test.bowline.dev "+s.Prefix+"class", "provider")(t.Context()); err != nil {
			t.Error(err)
		}
		j.reported(t, c, "Binding")
	})
	t.Run("once, whatever another controller reports besides (N13)", func(t *testing.T) {
		s.status(c, func() { c.SetConditions(xpv1.Reconciling("InternalError", "the binder's")) })
		j.passes(c, 0)
		j.reported(t, c, "")
	})
	t.Run("after a change of the claim it waits again (N10)", func(t *testing.T) {
		s.edit(c, func() { c.Spec.ClassSelector.MatchLabels["zone"] = "a" })
		j.passes(c, patience)
		j.now.Add(1)
	})
	t.Run("a claim that is gone, and made anew (R16)", func(t *testing.T) {
		s.delete(c)
		j.passes(c, 0)
		c = s.claim("waits", labels.Set{"size": "small"})
		s.create(c)
		j.passes(c, patience)
	})
}

// The claim gets a class after the pass read it and before the pass reports.
func TestReportConflictsWithBinder(t *testing.T) {
	t.Parallel()
	t.Run("it never speaks over the binder (R17, N10)", func(t *testing.T) {
		s := newClassStage(t)
		j := judging(s)
		c := s.claim("contested", labels.Set{"size": "small"})
		s.create(c)
		var once sync.Once
		s.onRequest(func(req *http.Request) error {
			if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/status") {
				once.Do(func() {
					s.edit(c, func() { c.Spec.ClassReference = s.of(shop.ItemClassGroupVersionKind, "class") })
					c.SetConditions(xpv1.Waiting(xpv1.ReasonBinding, "the binder's"))
					if err := s.Client.Status().Update(t.Context(), c); err != nil {
						t.Error(err)
					}
				})
			}
			return nil
		})
		if got, err := j.pass(c); err != nil || got.RequeueAfter <= 0 {
			t.Errorf("a conflict ends the pass with %v, %v", got, err)
		}
		j.passes(c, 0)
		if err := s.shows(c, "Binding", "the binder's")(t.Context()); err != nil {
			t.Error(err)
		}
		j.wantEvents() // a refused write is no event (N13)
	})
}

// A claim of another kind is offered what definitions declare.
func TestKindsOfClaims(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.start(func(mgr manager.Manager) error {
		return claim.NewReconciler(mgr, otherClaims).SetupWithManager(mgr)
	})
	other := func(name, class string) *shop.OtherClaim {
		c := &shop.OtherClaim{ObjectMeta: s.meta(s.Namespace, name)}
		c.Spec.ClassReference = s.of(shop.GroupVersion.WithKind(class), "x")
		return c
	}
	items, gadgets := other("items", "ItemClass"), other("gadgets", "GadgetClass")
	s.create(items, gadgets)
	s.Eventually(t, "gadgets are not for it (N10)", func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(gadgets), gadgets); err != nil {
			return err
		}
		if got := gadgets.GetCondition(xpv1.TypeReady); got.Reason != xpv1.ReasonClassNotFound {
			return fmt.Errorf("it shows %s %q", got.Reason, got.Message)
		}
		return nil
	})
	t.Run("the annotation names all claim kinds (N10)", func(t *testing.T) {
		if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(items), items); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(xpv1.ResourceClaimStatus{}, items.Status); diff != "" {
			t.Errorf("items are for it:\n%s", diff)
		}
	})
}

// Where the API server refuses something to the controllers, the claim reports to the team what to do, and neither it nor an event
// repeats the server's message: that names accounts, and objects that the team may not see.
func TestRefusedRequestsAreReportedToTeams(t *testing.T) {
	t.Parallel()
	const secret = "of-the-platform"
	raw := errors.New(`is forbidden: User "system:serviceaccount:` + secret + `:controllers" cannot do this`)
	for name, tc := range map[string]struct {
		refused func(*http.Request) bool
		class   string // that asks for the namespace's labels, or not
		reason  string
		words   []string
	}{
		"to list classes (N10)": {
			refused: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/gadgetclasses") },
			reason:  "NoMatchingClass", words: []string{"could not be listed", "ask your platform team"},
		},
		"to read the labels of the namespace (N10)": {
			refused: func(r *http.Request) bool {
				return strings.Contains(r.URL.Path, "/api/v1/namespaces/") && !strings.Contains(r.URL.Path, "/events")
			},
			class:  "silver",
			reason: "NoMatchingClass", words: []string{"could not be listed", "ask your platform team"},
		},
		"to write the class (N10)": {
			refused: func(r *http.Request) bool {
				return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/itemclaims/") && !strings.HasSuffix(r.URL.Path, "/status")
			},
			reason: "Binding", words: []string{"no controller assigns it", "Ask your platform team"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClassStage(t)
			s.onRequest(func(r *http.Request) error {
				if tc.refused(r) {
					return raw
				}
				return nil
			})
			first := labelled(s.item("a"), labels.Set{"size": "small"})
			if tc.class != "" {
				only(first, tc.class)
			}
			s.create(first, labelled(s.item("b"), labels.Set{"size": "small"}))
			s.start(func(mgr manager.Manager) error {
				if err := assigners(itemClass)(mgr); err != nil {
					return err
				}
				r := claim.NewReconciler(mgr, itemClaims)
				r.Patience = 200 * time.Millisecond
				return r.SetupWithManager(mgr)
			})
			c := s.claim("waits", labels.Set{"size": "small"})
			s.create(c)
			s.Eventually(t, "the claim reports what to do", s.shows(c, tc.reason, tc.words...))
			s.wants(c, nil)
			events := &corev1.EventList{}
			err := s.Client.List(t.Context(), events, client.InNamespace(s.Namespace))
			if read := fmt.Sprint(c.Status, events.Items); err != nil || strings.Contains(read, secret) || strings.Contains(read, "forbidden") {
				t.Errorf("the team reads %s, %v", read, err)
			}
			s.onRequest(nil)
			strange := s.claim("strange", nil)
			s.named("StrangeClass", "")(strange)
			s.create(strange)
			s.Eventually(t, "it gets a class", func(ctx context.Context) error {
				if err := s.Client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil || c.Spec.ClassReference == nil {
					return fmt.Errorf("it has none: %v", err)
				}
				return nil
			})
			s.Eventually(t, "the other is judged", s.shows(strange, "ClassNotFound"))
		})
	}
}
