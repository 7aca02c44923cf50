// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// The way of a claim: what is made of its class, what both sides record of each other, and that nothing is written any more then.
func TestProvision(t *testing.T) {
	t.Parallel()
	s := newClaimStage(t)
	class, claim := s.newClass(nil), s.newClaim(s.claim, nil)
	s.create(class, claim)
	s.pass()
	item := s.item()

	t.Run("the name begins with namespace and name of the claim (R262, P2)", func(t *testing.T) {
		want := regexp.MustCompile("^" + regexp.QuoteMeta(s.Namespace) + "-orders-[bcdfghjklmnpqrstvwxz2456789]{5}$")
		if !want.MatchString(item.Name) || item.GenerateName != s.Namespace+"-orders-" {
			t.Errorf("name %q, generateName %q", item.Name, item.GenerateName)
		}
	})
	t.Run("the spec comes from the class, references are set after all configurators (R257, R258, R261, R215)", func(t *testing.T) {
		want := shop.ItemSpec{ForProvider: shop.ItemParameters{Colour: new("red")}}
		want.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionAll}
		want.DeletionPolicy = xpv1.DeletionDelete
		want.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: "default"}
		want.ReclaimPolicy = xpv1.ReclaimDelete
		want.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.Namespace, Name: string(claim.UID)}
		want.ClassReference = reference(shop.ItemClassKind, s.class)
		want.ClassReference.UID = class.UID
		want.ClaimReference = reference(shop.ItemClaimKind, "orders")
		want.ClaimReference.Namespace, want.ClaimReference.UID = s.Namespace, claim.UID
		if diff := cmp.Diff(want, item.Spec); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("the claim names it at once, and waits until it can be bound (R267, R269, N17)", func(t *testing.T) {
		s.waits("orders", xpv1.ReasonBinding, item.Name, "Wait")
		ref := s.claimOf("orders").Spec.ResourceReference
		if ref == nil || ref.Name != item.Name || ref.UID != item.UID || ref.Kind != shop.ItemKind {
			t.Errorf("spec.resourceRef is %v", ref)
		}
		s.wantEvents(claimbinding.ReasonProvisioned)
	})

	s.ready(item)
	s.pass()
	t.Run("both sides show that they are bound (R273, R282)", func(t *testing.T) {
		s.isBound("orders")
		if got := s.item().Status.BindingPhase; got != xpv1.BindingPhaseBound {
			t.Errorf("the managed resource's phase is %q", got)
		}
		s.wantEvents(claimbinding.ReasonBound)
	})
	t.Run("the claim shows the external name, and another one later (R266, P3)", func(t *testing.T) {
		before := meta.GetExternalName(s.claimOf("orders"))
		item := s.item()
		s.edit(item, func() { meta.SetExternalName(item, "item-4711") })
		s.pass()
		if after := meta.GetExternalName(s.claimOf("orders")); before != "item-0815" || after != "item-4711" {
			t.Errorf("external names %q, %q", before, after)
		}
	})
	t.Run("a further pass writes nothing (N13)", func(t *testing.T) {
		s.restart(s.access())
		if result, did := s.pass(), s.take(writes); len(did) > 0 || !result.IsZero() || len(s.events.Take()) > 0 {
			t.Errorf("it wrote %v and returns %v", did, result)
		}
	})
}

// configuring configures items by one function.
func configuring(configure func(*shop.Item)) claimbinding.ReconcilerOption {
	return claimbinding.WithManagedConfigurators(claimbinding.ManagedConfiguratorFn(
		func(_ context.Context, _ resource.Claim, _ resource.Class, mg resource.Managed) error {
			configure(mg.(*shop.Item))
			return nil
		}))
}

// The text of an error that is not classified is for the platform team only.
func TestErrorsOfConfigurators(t *testing.T) {
	t.Parallel()
	t.Run("they run in order, and an error stops provisioning (R259, A63, A64, A65)", func(t *testing.T) {
		var ran []string
		step := func(name string, err error) claimbinding.ManagedConfigurator {
			return claimbinding.ManagedConfiguratorFn(func(context.Context, resource.Claim, resource.Class, resource.Managed) error {
				ran = append(ran, name)
				return err
			})
		}
		cause := errors.New("token 0Zkq4 refused")
		for want, err := range map[string]error{"size 3 is sold out": failure.ForTeam(failure.InvalidSettings, "size 3 is sold out", cause),
			"ask your platform team, which can see the cause": cause} {
			ran = nil
			s := newClaimStage(t, claimbinding.WithManagedConfigurators(step("a", nil), step("b", err), step("c", nil)))
			s.create(s.newClass(nil), s.newClaim("orders", nil))
			s.pass()
			s.refused("orders", xpv1.ReasonBinding, want)
			if diff := cmp.Diff([]string{"a", "b"}, ran); diff != "" || len(s.items()) > 0 || len(s.claimOf("orders").Finalizers) > 0 {
				t.Errorf("%d managed resources; ran, -want +got:\n%s", len(s.items()), diff)
			}
			read := fmt.Sprint(s.claimOf("orders").Status, s.events.All())
			if strings.Contains(read, "0Zkq4") || strings.Count(read, want) < 4 {
				t.Errorf("the team reads %s", read)
			}
		}
	})
}

// What an author of configurators can count on.
func TestConfigurators(t *testing.T) {
	t.Parallel()
	t.Run("a claim that contradicts its class is refused, one that does not gets what it asks for (R283, D27)", func(t *testing.T) {
		t.Parallel()
		s := newClaimStage(t)
		s.create(s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.ForProvider.Size = new(int64(1)) }),
			s.newClaim("orders", func(c *shop.ItemClaim) { c.Spec.Size = new(int64(2)) }))
		s.pass()
		s.refused("orders", xpv1.ReasonBinding, "spec.size contradicts the class")
		claim := s.claimOf("orders")
		s.edit(claim, func() { claim.Spec.Size = new(int64(1)) })
		s.pass()
		if got := s.item().Spec.ForProvider.Size; got == nil || *got != 1 {
			t.Errorf("size %v", got)
		}
	})
	t.Run("the claim's external name is proposed, and overwrites none (R264, R265, A66)", func(t *testing.T) {
		t.Parallel()
		claim, item := &shop.ItemClaim{}, &shop.Item{}
		claim.Namespace, claim.Name = "team", "orders"
		meta.SetExternalName(claim, "orders-db")
		c := claimbinding.NewObjectMetaConfigurator(scheme())
		if err := c.Configure(t.Context(), claim, nil, item); err != nil {
			t.Fatal(err)
		}
		if meta.GetExternalName(item) != "orders-db" || !meta.IsExternalNameProposed(item) || item.GenerateName != "team-orders-" {
			t.Errorf("got %v", item.ObjectMeta)
		}
		item = &shop.Item{}
		meta.SetExternalName(item, "chosen")
		if err := c.Configure(t.Context(), claim, nil, item); err != nil {
			t.Fatal(err)
		}
		if meta.GetExternalName(item) != "chosen" || meta.IsExternalNameProposed(item) {
			t.Errorf("got %v", item.ObjectMeta)
		}
	})
	t.Run("a proposed name that may look like that of another team is refused (R264, N41)", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{" ", "orders ", "orders\n", "о\u0072ders", "orders\u200b", "\u202esredro"} {
			claim, item := &shop.ItemClaim{}, &shop.Item{}
			meta.SetExternalName(claim, name)
			err := claimbinding.NewObjectMetaConfigurator(scheme()).Configure(t.Context(), claim, nil, item)
			if class := failure.Of(err); class.Reason != failure.InvalidSettings || !strings.Contains(class.Message, "ASCII letters") ||
				strings.Contains(class.Message, name) && strings.TrimSpace(name) != "" && name != "orders " || meta.GetExternalName(item) != "" {
				t.Errorf("%+q: %v, %+v, proposed %q", name, err, class, meta.GetExternalName(item))
			}
		}
	})
	for name, ending := range map[string]string{"letters": "e", "a dot where it is cut": "e.e.e."} {
		t.Run("the longest name of a claim: "+name+" (P2, R262)", func(t *testing.T) {
			t.Parallel()
			for shift := range 2 { // a dot is at the cut once
				s := newClaimStage(t)
				s.claim = strings.Repeat("o", 50+shift) + ending
				s.claim += strings.Repeat("e", 63-len(s.claim))
				s.bound(func(c *shop.ItemClaim) { c.Spec.WriteConnectionSecretToReference.Name = "short" })
			}
		})
	}
	t.Run("a configurator cannot give the managed resource to another claim (R261)", func(t *testing.T) {
		t.Parallel()
		s := newClaimStage(t, configuring(func(item *shop.Item) { item.Spec.ClaimReference = &corev1.ObjectReference{Name: "another"} }))
		claim := s.newClaim("orders", nil)
		s.create(s.newClass(nil), claim)
		s.pass()
		if got := s.item().Spec.ClaimReference; got.UID != claim.UID || got.Name != "orders" {
			t.Errorf("spec.claimRef is %v", got)
		}
	})
}

// What configurators make that cannot be stored is reported without what is not for the author of the claim.
func TestRefusedPlans(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		configure func(*claimStage, *shop.Item)
		part      string
		never     string
	}{
		"settings that the API server refuses (R258)": {
			configure: func(_ *claimStage, item *shop.Item) { item.Spec.DeletionPolicy = "of-secret-cloud" },
			part:      "does not accept spec.deletionPolicy of the Item that class", never: "of-secret-cloud",
		},
		"a name that is taken (R268)": {configure: func(s *claimStage, item *shop.Item) { item.Name = s.Prefix + "taken" }, part: "already"},
		"a managed resource in a namespace (N28)": {
			configure: func(s *claimStage, item *shop.Item) { item.Namespace = s.Namespace }, part: "namespace",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *claimStage
			s = newClaimStage(t, configuring(func(item *shop.Item) { tc.configure(s, item) }))
			s.create(s.newClass(nil), s.newClaim("orders", nil), s.newItem("taken", nil))
			s.pass()
			s.refused("orders", xpv1.ReasonBinding, tc.part, "platform team")
			ready := s.claimOf("orders").GetCondition(xpv1.TypeReady)
			if tc.never != "" && strings.Contains(ready.Message, tc.never) {
				t.Errorf("the message contains %q: %s", tc.never, ready.Message)
			}
			if len(s.items()) != 1 || s.claimOf("orders").Spec.ResourceReference != nil {
				t.Errorf("%d managed resources, want the other one", len(s.items()))
			}
		})
	}
}

// What becomes of reclaim policy, of classes that are not there, and of their later changes.
func TestClasses(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"the class's reclaim policy counts (N4)": func(s *claimStage) {
			s.create(s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.ReclaimPolicy = xpv1.ReclaimRetain }), s.newClaim("orders", nil))
			s.pass()
			if got := s.item().Spec.ReclaimPolicy; got != xpv1.ReclaimRetain {
				s.t.Errorf("reclaim policy %q", got)
			}
		},
		"the class's recreate policy counts (N38)": func(s *claimStage) {
			s.create(s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.RecreatePolicy = xpv1.RecreateAlways }), s.newClaim("orders", nil))
			s.pass()
			if got := s.item().Spec.RecreatePolicy; got != xpv1.RecreateAlways {
				s.t.Errorf("recreate policy %q", got)
			}
		},
		"the class's protection counts (N39)": func(s *claimStage) {
			class := s.newClass(nil)
			class.Annotations = map[string]string{meta.AnnotationKeyProtect: "false"}
			s.create(class, s.newClaim("orders", nil))
			s.pass()
			if got := s.item().Annotations[meta.AnnotationKeyProtect]; got != "false" {
				s.t.Errorf("annotation %q", got)
			}
		},
		"a missing class is an error until it is there (R276, N10)": func(s *claimStage) {
			s.create(s.newClaim("orders", nil))
			if rest := s.pass(); rest.RequeueAfter == 0 {
				s.t.Error("the pass is not repeated")
			}
			s.refused("orders", xpv1.ReasonClassNotFound, s.class, "kubectl get classes")
			if len(s.items()) > 0 || len(s.claimOf("orders").Finalizers) > 0 {
				s.t.Error("something was made")
			}
			s.create(s.newClass(nil))
			s.pass()
			s.waits("orders", xpv1.ReasonBinding)
			_ = s.item()
		},
		"a class that goes is none (R276)": func(s *claimStage) {
			class := s.newClass(func(c *shop.ItemClass) { c.Finalizers = []string{"test.bowline.dev/hold"} })
			s.create(class, s.newClaim("orders", nil))
			s.delete(class)
			s.pass()
			s.refused("orders", xpv1.ReasonClassNotFound, s.class, "is being deleted")
			s.edit(class, func() { class.Finalizers = nil })
		},
		"the claim shows the class that its managed resource was made from (R277)": func(s *claimStage) {
			s.unreferred()
			claim := s.claimOf("orders")
			s.edit(claim, func() { claim.Spec.ClassReference.Name = "another" })
			s.pass()
			if got := s.claimOf("orders").Spec; got.ResourceReference == nil || got.ClassReference.Name != s.class {
				s.t.Errorf("classRef %v, resourceRef %v", got.ClassReference, got.ResourceReference)
			}
		},
		"editing and deleting the class changes nothing afterwards (R277)": func(s *claimStage) {
			_, item := s.bound(nil)
			class := s.newClass(nil)
			s.edit(class, func() {
				class.SpecTemplate.ForProvider.Colour = new("blue")
				class.SpecTemplate.WriteConnectionSecretsToNamespace = "elsewhere"
			})
			s.pass()
			s.delete(class)
			s.pass()
			s.isBound("orders")
			if diff := cmp.Diff(item, s.item()); diff != "" {
				s.t.Errorf("-before +after:\n%s", diff)
			}
		},
	})
}

// Whose claims a controller leaves alone, and what it makes of what others do meanwhile.
func TestOthers(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"claims of other kinds of class or managed resource are left alone (R281)": func(s *claimStage) {
			s.create(s.newClass(nil), s.newClaim("orders", func(c *shop.ItemClaim) { c.Spec.ClassReference.Kind = shop.GadgetClassKind }),
				s.newClaim("others", func(c *shop.ItemClaim) {
					c.Spec.ResourceReference = reference(shop.GadgetKind, "g")
				}))
			for _, name := range []string{"orders", "others"} {
				s.passOf(name)
				if got := s.claimOf(name); len(got.Finalizers)+len(got.Status.Conditions) > 0 {
					s.t.Errorf("claim %s was touched: %v", name, got)
				}
			}
			if len(s.items()) > 0 {
				s.t.Error("something was made")
			}
		},
		"a name that is taken gives way to another, and to one only (R268, N11)": func(s *claimStage) {
			s.create(s.newClass(nil), s.newClaim("orders", nil))
			s.crashedAfter(1)
			squatter := s.item()
			s.edit(squatter, func() { squatter.Labels, squatter.Spec.ClaimReference = nil, nil })
			s.crashedAfter(2) // the second name is free
			if len(s.items()) != 2 {
				s.t.Fatalf("%d managed resources", len(s.items()))
			}
			s.delete(squatter) // so that the first name is free
			second := s.item().Name
			s.pass()
			if got := s.item().Name; got != second {
				s.t.Errorf("it has %s, want %s", got, second)
			}
		},
		"a claim that does not exist ends quietly (R16)": func(s *claimStage) {
			if result := s.pass(); !result.IsZero() {
				s.t.Errorf("it returns %v", result)
			}
		},
		"a conflict is never a success (R17)": func(s *claimStage) {
			s.create(s.newClass(nil), s.newClaim("orders", nil))
			once := false
			s.restart(fault.InterceptWrites(s.Config, func(request string) (error, error) {
				if strings.HasSuffix(request, "/orders") && !once {
					once = true
					claim := s.claimOf("orders")
					s.edit(claim, func() { claim.Labels = map[string]string{"edited": "meanwhile"} })
				}
				return nil, nil
			}))
			if rest := s.pass(); rest.RequeueAfter == 0 || len(s.items()) > 0 {
				s.t.Errorf("comes back after %v, %d managed resources", rest.RequeueAfter, len(s.items()))
			}
			s.pass()
			_ = s.item()
		},
	})
}

// A claim shows why its managed resource is not ready, without what is for the platform team only.
func TestCause(t *testing.T) {
	t.Parallel()
	failing := xpv1.ReconcileError(errors.New("calling https://secret: secret bowline-system/cloud-key does not exist"))
	cases := map[string]struct {
		conditions []xpv1.Condition
		want       string
	}{
		"being created (N17)": {[]xpv1.Condition{xpv1.ReconcileSuccess()}, "(Creating)"},
		"a failure with a message for teams (N17, N41)": {
			[]xpv1.Condition{failing, xpv1.Stalled(failure.QuotaExceeded, "the quota of 5 is used up")}, "(QuotaExceeded): the quota of 5 is used up",
		},
		"a setting that the external system refuses (N17, N41)": {
			[]xpv1.Condition{failing, xpv1.Stalled(failure.InvalidSettings, `version "9.9" is not available`)}, "create it again with another value",
		},
		"a retried failure with a message for teams (N17, N41)": {
			[]xpv1.Condition{failing, xpv1.Reconciling(failure.ExternalSystemUnreachable, "it is not reachable")}, "it is not reachable",
		},
		"a failure for the platform team (N17, N41)": {
			[]xpv1.Condition{failing, xpv1.Stalled(failure.ProviderConfigUnavailable, "")}, "Ask your platform team",
		},
		"a failure without a reason (N17, N41)": {[]xpv1.Condition{failing}, "Ask your platform team"},
		"text in condition Ready (N17, N41)": {
			[]xpv1.Condition{xpv1.ReconcileSuccess(), xpv1.Creating().WithMessage("asking https://secret")}, "Wait until it is",
		},
		"an external name that the claim proposes and that is taken (N24)": {
			[]xpv1.Condition{failing, xpv1.Stalled(failure.ExternalNameTaken, "a secret")}, `"orders-db", which the claim proposes, cannot be used`,
		},
		"paused (N17)": {[]xpv1.Condition{xpv1.ReconcilePaused()}, "paused"},
	}
	s := newClaimStage(t)
	s.create(s.newClass(nil), s.newClaim("orders", func(c *shop.ItemClaim) { meta.SetExternalName(c, "orders-db") }))
	s.pass()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			item := s.item()
			s.status(item, func() {
				item.Status.Conditions = nil
				item.SetConditions(append([]xpv1.Condition{xpv1.Creating()}, tc.conditions...)...)
			})
			s.pass()
			s.waits("orders", xpv1.ReasonBinding, tc.want)
			if message := s.claimOf("orders").GetCondition(xpv1.TypeReady).Message; strings.Contains(message, "secret") {
				t.Errorf("the team reads %s", message)
			}
		})
	}
	s.ready(s.item())
	s.pass()
	s.isBound("orders")
	unobserved := xpv1.CannotObserve(failure.ExternalSystemUnreachable)
	for name, tc := range map[string]struct {
		ready xpv1.Condition
		state xpv1.Condition
		want  xpv1.ConditionReason // of condition Ready
		says  string
		cause xpv1.ConditionReason
	}{
		"it cannot be used (R282)": {xpv1.Unavailable(), xpv1.Stalled(failure.ExternalResourceFailed, "It restarts."), xpv1.ReasonUnavailable,
			"(ExternalResourceFailed): It restarts.", failure.ExternalResourceFailed},
		"it cannot be observed (N44)": {unobserved, xpv1.Reconciling(failure.ExternalSystemUnreachable, "it is not reachable"),
			xpv1.ReasonUnavailable, "(ExternalSystemUnreachable): it is not reachable", failure.ExternalSystemUnreachable},
		"its ProviderConfig is missing (N44)": {unobserved, xpv1.Reconciling(failure.ProviderConfigUnavailable, ""), xpv1.ReasonUnavailable,
			"(ProviderConfigUnavailable). Ask your platform team", failure.ProviderConfigUnavailable},
		"it is usable, and an update failed (N44)": {xpv1.Available(), xpv1.Stalled(failure.InvalidSettings, "size 9 is too large"),
			xpv1.ReasonAvailable, "is usable, but its last reconcile failed (InvalidSettings): size 9 is too large", ""},
		"it is usable, and calls are throttled (N44)": {xpv1.Available(), xpv1.Reconciling(failure.ExternalSystemThrottled, "later"),
			xpv1.ReasonAvailable, "", ""},
	} {
		t.Run("a bound claim shows that "+name, func(t *testing.T) {
			item := s.item()
			s.status(item, func() { item.Status.Conditions = []xpv1.Condition{tc.ready, failing, tc.state} })
			s.pass()
			s.wantState("orders", "Bound", tc.want, xpv1.ReasonReconcileSuccess, tc.says)
			claim := s.claimOf("orders")
			if got := xpv1.FailureOf(claim).Reason; got != tc.cause || tc.says == "" && claim.GetCondition(xpv1.TypeReady).Message != "" {
				t.Errorf("the claim's cause is %q, want %q; Ready is %+v", got, tc.cause, claim.GetCondition(xpv1.TypeReady))
			}
		})
	}
}

// A pass that failed reports what it did, not the error.
func TestFailureReportsOperationNotError(t *testing.T) {
	t.Parallel()
	t.Run("the address of the API server (N17)", func(t *testing.T) {
		t.Parallel()
		s := newClaimStage(t)
		s.create(s.newClass(nil), s.newClaim("orders", nil))
		s.pass()
		s.ready(s.item())
		s.restart(fault.InterceptWrites(s.Config, func(request string) (error, error) {
			if request == "POST /api/v1/namespaces/"+s.Namespace+"/secrets" {
				return fault.ErrCrashed, nil
			}
			return nil, nil
		}))
		if _, err := s.tryPass("orders"); !errors.Is(err, fault.ErrCrashed) {
			t.Errorf("the queue gets %v", err)
		}
		s.wantState("orders", "Bound", xpv1.ReasonBinding, xpv1.ReasonReconcileError, "see condition Synced")
		message := s.claimOf("orders").GetCondition(xpv1.TypeSynced).Message
		if !strings.HasPrefix(message, "writing the connection Secret of the claim failed") || strings.Contains(message, "://") {
			t.Errorf("Synced is %q", message)
		}
	})
}

func TestControllerNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want string }{
		"of claims (R12, A62)":                       {claimbinding.ControllerName(itemClaims, items), "itemclaim.item.shop.test.bowline.dev"},
		"of Secrets (R13)":                           {secret.ControllerName(items), "connectionsecret.item.shop.test.bowline.dev"},
		"of targets of one managed kind (R14)":       {target.ControllerName(items), "kubernetestarget.item.shop.test.bowline.dev"},
		"of targets of all managed kinds (R14, R15)": {target.ControllerName(resource.ManagedKind{}), "kubernetestarget"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got %s, want %s", tc.got, tc.want)
			}
		})
	}
}
