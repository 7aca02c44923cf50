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
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimdefaulting"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// assigners adds the scheduler and the defaulter of class kinds.
func assigners(kinds ...resource.ClassKind) func(manager.Manager) error {
	return func(mgr manager.Manager) error {
		for _, class := range kinds {
			if err := claimscheduling.NewReconciler(mgr, itemClaims, class).SetupWithManager(mgr); err != nil {
				return err
			}
			if err := claimdefaulting.NewReconciler(mgr, itemClaims, class).SetupWithManager(mgr); err != nil {
				return err
			}
		}
		return nil
	}
}

// everything adds all controllers that choose classes and report it.
func everything(mgr manager.Manager) error {
	if err := assigners(itemClass, gadgetClass)(mgr); err != nil {
		return err
	}
	return claim.NewReconciler(mgr, itemClaims).SetupWithManager(mgr)
}

// watchClasses returns how often each claim of the test was given a class, once it is called.
func (s *classStage) watchClasses() func() map[string][]string {
	s.t.Helper()
	watcher, err := s.Client.Watch(s.t.Context(), &shop.ItemClaimList{}, client.InNamespace(s.Namespace))
	if err != nil {
		s.t.Fatal(err)
	}
	last := func() map[string][]string {
		given := map[string][]string{}
		end := s.claim("end-of-watch", labels.Set{"no": "such"})
		s.create(end)
		for e := range watcher.ResultChan() {
			c, ok := e.Object.(*shop.ItemClaim)
			if !ok || e.Type == watch.Deleted {
				continue
			}
			if c.Name == end.Name {
				watcher.Stop()
				break
			}
			if ref := c.Spec.ClassReference; ref != nil {
				if name := ref.Kind + " " + ref.Name; len(given[c.Name]) == 0 || given[c.Name][len(given[c.Name])-1] != name {
					given[c.Name] = append(given[c.Name], name)
				}
			}
		}
		return given
	}
	return last
}

// Two providers in managers of their own serve one claim kind.
func TestTwoManagers(t *testing.T) {
	t.Parallel()
	const claims = 20
	for name, tc := range map[string]struct {
		blind bool // the manager of items sees no gadget classes, as it might for a moment
		wants labels.Set
	}{
		"both agree (R242, R2, R5, N10)":                    {wants: labels.Set{"size": "any"}},
		"they see different classes and race (R242, R17)":   {blind: true, wants: labels.Set{"size": "any"}},
		"defaults, of which there is one (R242, R251, N10)": {wants: nil},
		"defaulters that see one default each (R242, R251)": {blind: true, wants: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClassStage(t)
			ofItems, ofGadgets := labels.Set{"size": "any", "only": "items"}, labels.Set{"size": "any", "only": "gadgets"}
			item, gadget := labelled(s.item("class"), ofItems), byDefault(labelled(s.gadget("class"), ofGadgets), "true")
			if tc.blind {
				byDefault(item, "true")
			}
			s.create(item, gadget)
			given := s.watchClasses()
			s.startSide("items", tc.blind, assigners(itemClass))
			s.startSide("gadgets", tc.blind, assigners(gadgetClass))
			var all []*shop.ItemClaim
			for i := range claims {
				c := s.claim(fmt.Sprintf("claim-%d", i), tc.wants)
				s.create(c)
				all = append(all, c)
			}
			for _, c := range all {
				s.Eventually(t, "it has a class", func(ctx context.Context) error {
					if s.gets(c, s.of(shop.GadgetClassGroupVersionKind, "class"))(ctx) == nil {
						return nil
					}
					err := s.gets(c, s.of(shop.ItemClassGroupVersionKind, "class"))(ctx)
					if err == nil && !tc.blind {
						t.Errorf("%s got the class that comes second", c.Name)
					}
					return err
				})
			}
			got := given()
			for _, c := range all {
				if len(got[c.Name]) != 1 {
					t.Errorf("%s got %v", c.Name, got[c.Name])
				}
			}
		})
	}
}

// startSide runs a manager that, if it is blind, sees of the classes only those of one side.
func (s *classStage) startSide(side string, blind bool, setup func(manager.Manager) error) {
	s.t.Helper()
	s.startWith(func(o *cache.Options) {
		if blind {
			only := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{mine: s.Namespace, "only": side})}
			o.ByObject = map[client.Object]cache.ByObject{&shop.ItemClass{}: only, &shop.GadgetClass{}: only}
		}
	}, setup)
}

// Classes that come, change and go.
func TestWakeups(t *testing.T) {
	t.Parallel()
	runOn(t, newClassStage, map[string]func(*classStage){
		"a class appears, and gets the labels later (R240)": func(s *classStage) {
			s.start(everything)
			one, two := s.claim("one", labels.Set{"size": "small"}), s.claim("two", labels.Set{"size": "large"})
			s.create(one, two)
			s.Eventually(s.t, "it reports that (N10)", s.shows(one, "NoMatchingClass", "size=small"))
			s.Eventually(s.t, "it reports that (N10)", s.shows(two, "NoMatchingClass", "size=large"))
			class := labelled(s.item("class"), labels.Set{"size": "small"})
			s.create(class)
			s.Eventually(s.t, "it appears", s.gets(one, s.of(shop.ItemClassGroupVersionKind, "class")))
			s.edit(class, func() { class.Labels["size"] = "large" })
			s.Eventually(s.t, "it changes", s.gets(two, s.of(shop.ItemClassGroupVersionKind, "class")))
			if err := s.gets(one, s.of(shop.ItemClassGroupVersionKind, "class"))(s.t.Context()); err != nil {
				s.t.Errorf("%v (R238)", err)
			}
		},
		"a default appears, a second one, and goes (R249, N10)": func(s *classStage) {
			s.start(everything)
			one, two := s.claim("one", nil), s.claim("two", nil)
			s.create(one, s.item("plain"))
			s.Eventually(s.t, "it reports that (N10)", s.shows(one, "NoMatchingClass", "default"))
			item, gadget := byDefault(s.item("default"), "true"), byDefault(s.gadget("default"), "true")
			s.create(item)
			s.Eventually(s.t, "it appears (R248)", s.gets(one, s.of(shop.ItemClassGroupVersionKind, "default")))
			s.create(gadget)
			s.Eventually(s.t, "there are two (R251)", func(ctx context.Context) error {
				// Until all know of the second, a claim gets the first, as it should.
				any := s.claim("", nil)
				any.GenerateName = "any-"
				s.create(any)
				list := &shop.ItemClaimList{}
				if err := s.Client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
					return err
				}
				for _, c := range list.Items {
					if c.GetCondition("Ready").Reason == "AmbiguousDefaultClass" {
						return nil
					}
				}
				return fmt.Errorf("no claim of %d reports that", len(list.Items))
			})
			s.create(two)
			s.Eventually(s.t, "it names both (N10)", s.shows(two, "AmbiguousDefaultClass",
				"GadgetClass.shop.test.bowline.dev "+gadget.Name, "ItemClass.shop.test.bowline.dev "+item.Name))
			if two.Spec.ClassReference != nil {
				s.t.Errorf("it got %v (N10)", two.Spec.ClassReference)
			}
			s.delete(item)
			s.Eventually(s.t, "it goes", s.gets(two, s.of(shop.GadgetClassGroupVersionKind, "default")))
		},
		"a class that is being deleted is not for new claims (N10)": func(s *classStage) {
			going, staying := labelled(s.item("a"), labels.Set{"size": "any"}), labelled(s.item("b"), labels.Set{"size": "any"})
			going.Finalizers = []string{"test.bowline.dev/stay"}
			s.create(going, staying)
			s.delete(going)
			s.start(everything)
			c := s.claim("one", labels.Set{"size": "any"})
			s.create(c)
			s.Eventually(s.t, "it gets the other", s.gets(c, s.of(shop.ItemClassGroupVersionKind, "b")))
		},
	})
}

// Many claims and few classes: what that costs. It is not parallel, since all controllers look at the class kinds that TestDefinitions installs.
func TestCost(t *testing.T) {
	const claims = 100
	s := newClassStage(t)
	s.create(labelled(s.item("class"), labels.Set{"size": "any"}))
	var all []*shop.ItemClaim
	for i := range claims {
		c := s.claim(fmt.Sprintf("claim-%d", i), labels.Set{"size": "any"})
		if i%10 == 0 {
			c = s.claim(c.Name, labels.Set{"size": "none"})
		}
		s.create(c)
		all = append(all, c)
	}
	stop := s.start(everything)
	for i, c := range all {
		if i%10 == 0 {
			s.Eventually(t, "it reports why not", s.shows(c, "NoMatchingClass"))
		} else {
			s.Eventually(t, "it has a class", s.gets(c, s.of(shop.ItemClassGroupVersionKind, "class")))
		}
	}
	t.Run("two writes for each claim, an event included (N13)", func(t *testing.T) {
		var requests []string
		s.Eventually(t, "all events are there", func(ctx context.Context) error {
			requests = append(requests, s.take(func(string) bool { return true })...)
			if n := count(requests, writes); n < 2*claims {
				return fmt.Errorf("%d writes", n)
			}
			return nil
		})
		if n := count(requests, writes); n != 2*claims {
			t.Errorf("%d writes for %d claims", n, claims)
		}
		// Discovery, and one list for each informer: what there are of claims, definitions and two class kinds.
		if n := count(requests, func(r string) bool { return !writes(r) }); n > 40 {
			t.Errorf("%d reads for %d claims: %v", n, claims, requests)
		}
	})
	stop()
	t.Run("a new process writes nothing where nothing changed (R1, N13)", func(t *testing.T) {
		s.start(everything)
		last := s.claim("last", labels.Set{"size": "any"})
		s.create(last)
		s.Eventually(t, "it has a class", s.gets(last, s.of(shop.ItemClassGroupVersionKind, "class")))
		for _, r := range s.take(writes) {
			if !strings.HasSuffix(r, "/last") && !strings.HasSuffix(r, "/events") {
				t.Error(r)
			}
		}
	})
}

func count(requests []string, is func(string) bool) (n int) {
	for _, r := range requests {
		if is(r) {
			n++
		}
	}
	return n
}

// All controllers of claims run together, and exactly one reports on each claim that waits.
func TestPeace(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.create(labelled(s.item("class"), labels.Set{"size": "small"}))
	s.start(func(mgr manager.Manager) error {
		if err := everything(mgr); err != nil {
			return err
		}
		return claimbinding.NewReconciler(mgr, itemClaims, itemClass, resource.ManagedKind(shop.ItemGroupVersionKind)).SetupWithManager(mgr)
	})
	made := map[*shop.ItemClaim]string{}
	for i, tc := range []struct {
		change func(*shop.ItemClaim)
		reason string
	}{
		{func(*shop.ItemClaim) {}, "Binding"},
		{selecting(labels.Set{"size": "huge"}), "NoMatchingClass"},
		{func(c *shop.ItemClaim) { c.Spec.ClassSelector = nil }, "NoMatchingClass"},
		{s.named("StrangeClass", ""), "ClassNotFound"},
		{s.named("ItemClass", ""), "ClassNotFound"},
		{s.named("", "Item"), "Binding"},
		{s.named("", "Strange"), "ResourceNotFound"},
		{s.named("StrangeClass", "Item"), "Binding"},
	} {
		c := s.claim(fmt.Sprintf("claim-%d", i), labels.Set{"size": "small"})
		tc.change(c)
		s.create(c)
		made[c] = tc.reason
	}
	for c, reason := range made {
		s.Eventually(t, "it reports why it waits (N10)", s.shows(c, reason))
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
