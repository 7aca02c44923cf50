// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

var (
	itemClaims  = resource.ClaimKind(shop.ItemClaimGroupVersionKind)
	otherClaims = resource.ClaimKind(shop.OtherClaimGroupVersionKind)
	itemClass   = resource.ClassKind(shop.ItemClassGroupVersionKind)
	gadgetClass = resource.ClassKind(shop.GadgetClassGroupVersionKind)
	items       = resource.ManagedKind(shop.ItemGroupVersionKind)
)

// A claimStage has the name of a class, and claim "orders" that names it. The test itself acts for the controller of managed resources.
type claimStage struct {
	*stage
	class   string
	claim   string
	options []claimbinding.ReconcilerOption
}

func newClaimStage(t *testing.T, o ...claimbinding.ReconcilerOption) *claimStage {
	t.Helper()
	return claimStageOn(newStage(t), o...)
}

func claimStageOn(of *stage, o ...claimbinding.ReconcilerOption) *claimStage {
	s := &claimStage{stage: of, class: of.Prefix + "gold", claim: "orders"}
	s.options = append([]claimbinding.ReconcilerOption{claimbinding.WithRecorder(s.events), claimbinding.WithManagedConfigurators(
		claimbinding.ManagedConfiguratorFn(configureItem), claimbinding.NewObjectMetaConfigurator(scheme()))}, o...)
	s.build = func(config *rest.Config) reconcile.Reconciler {
		return claimbinding.NewReconciler(s.manager(config), itemClaims, itemClass, items, s.options...)
	}
	s.restart(s.Config)
	return s
}

// configureItem does what a provider does: it replaces the whole spec, and refuses a size that contradicts the class.
func configureItem(_ context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error {
	claim, class, item := cm.(*shop.ItemClaim), cs.(*shop.ItemClass), mg.(*shop.Item)
	item.Spec = shop.ItemSpec{ForProvider: class.SpecTemplate.ForProvider}
	if size := claim.Spec.Size; size != nil {
		if of := class.SpecTemplate.ForProvider.Size; of != nil && *of != *size {
			return &failure.Error{Reason: xpv1.ReasonBinding, Message: "spec.size contradicts the class: leave it out, or use another class"}
		}
		item.Spec.ForProvider.Size = size
	}
	return nil
}

// newClass is a class that keeps connection Secrets in the test's namespace.
func (s *claimStage) newClass(change func(*shop.ItemClass)) *shop.ItemClass {
	class := &shop.ItemClass{ObjectMeta: metav1.ObjectMeta{Name: s.class}}
	class.SpecTemplate.WriteConnectionSecretsToNamespace = s.Namespace
	class.SpecTemplate.ForProvider.Colour = new("red")
	if change != nil {
		change(class)
	}
	return class
}

// limited is a class that so many claims may use.
func (s *claimStage) limited(most int64) *shop.ItemClass {
	return s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.Claims.Max = &most })
}

// newClaim is a claim that names the class and wants a Secret.
func (s *claimStage) newClaim(name string, change func(*shop.ItemClaim)) *shop.ItemClaim {
	claim := &shop.ItemClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	claim.Spec.ClassReference = reference(shop.ItemClassKind, s.class)
	claim.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name + "-connection"}
	if change != nil {
		change(claim)
	}
	return claim
}

// static lets a claim name an existing item in place of a class.
func static(name string) func(*shop.ItemClaim) {
	return func(claim *shop.ItemClaim) {
		claim.Spec.ClassReference, claim.Spec.ResourceReference = nil, reference(shop.ItemKind, name)
	}
}

// newItem is an item that an administrator made.
func (s *claimStage) newItem(name string, change func(*shop.Item)) *shop.Item {
	item := &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: s.Prefix + name}}
	item.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.Namespace, Name: name + "-source"}
	if change != nil {
		change(item)
	}
	return item
}

// toNamespace lets claims of the test's namespace have an item.
func (s *stage) toNamespace(item *shop.Item) {
	item.Annotations = map[string]string{meta.AnnotationKeyAllowedNamespaces: "elsewhere, " + s.Namespace}
}

// toClaim lets one claim have an item, as an administrator writes it without UIDs.
func (s *claimStage) toClaim(name string) func(*shop.Item) {
	return func(item *shop.Item) {
		item.Spec.ClaimReference = reference(shop.ItemClaimKind, name)
		item.Spec.ClaimReference.Namespace = s.Namespace
	}
}

// pass reconciles the claim of the stage once.
func (s *claimStage) pass() reconcile.Result {
	s.t.Helper()
	return s.passOf(s.claim)
}

func (s *claimStage) claimOf(name string) *shop.ItemClaim {
	s.t.Helper()
	claim := &shop.ItemClaim{}
	if !s.get(name, claim) {
		s.t.Fatalf("claim %s is gone", name)
	}
	return claim
}

// items are those of the test.
func (s *claimStage) items() (mine []shop.Item) {
	s.t.Helper()
	list := &shop.ItemList{}
	if err := s.Client.List(s.t.Context(), list); err != nil {
		s.t.Fatal(err)
	}
	for _, item := range list.Items {
		if strings.HasPrefix(item.Name, s.Prefix) {
			mine = append(mine, item)
		}
	}
	return mine
}

// item is the only one.
func (s *claimStage) item() *shop.Item {
	s.t.Helper()
	items := s.items()
	if len(items) != 1 {
		s.t.Fatalf("there are %d managed resources, want 1", len(items))
	}
	return &items[0]
}

// source is the connection Secret of an item.
func (s *claimStage) source(item *shop.Item) *corev1.Secret {
	s.t.Helper()
	return s.secret(item.Spec.WriteConnectionSecretToReference.Name)
}

// ready does to an item what its controller does once the external resource can be used.
func (s *claimStage) ready(item *shop.Item) {
	s.t.Helper()
	if item.Spec.WriteConnectionSecretToReference != nil {
		s.publish(item, map[string]string{"password": "hunter2", "username": "admin"})
	}
	s.edit(item, func() { meta.SetExternalName(item, "item-0815") })
	s.status(item, func() {
		item.SetConditions(xpv1.Available(), xpv1.ReconcileSuccess())
		resource.SetBindable(item)
	})
}

// bound puts on stage a claim that is bound to an item made for it.
func (s *claimStage) bound(change func(*shop.ItemClaim)) (*shop.ItemClaim, *shop.Item) {
	s.t.Helper()
	s.create(s.newClass(nil), s.newClaim(s.claim, change))
	s.pass()
	s.ready(s.item())
	s.pass()
	s.wantState(s.claim, "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	s.events.Take()
	return s.claimOf(s.claim), s.item()
}

// legacy creates an item that can be used and lets claims of the namespace have it.
func (s *claimStage) legacy(change func(*shop.Item)) *shop.Item {
	s.t.Helper()
	item := s.newItem("legacy", s.toNamespace)
	if change != nil {
		change(item)
	}
	s.create(item)
	s.ready(item)
	return item
}

func (s *claimStage) boundStatic(policy xpv1.ReclaimPolicy) {
	s.t.Helper()
	item := s.legacy(func(item *shop.Item) { item.Spec.ReclaimPolicy = policy })
	s.create(s.newClaim("orders", static(item.Name)))
	s.pass()
	s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
}

// wantState checks what the author of a claim sees.
func (s *claimStage) wantState(claim string, phase xpv1.BindingPhase, ready, synced xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	c := s.claimOf(claim)
	if c.GetBindingPhase() != phase {
		s.t.Errorf("claim %s has phase %q, want %q", claim, c.GetBindingPhase(), phase)
	}
	s.wantConditions(c, ready, synced, parts...)
}

// refused and waits are frequent states.
func (s *claimStage) refused(claim string, ready xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	s.wantState(claim, "Unbound", ready, xpv1.ReasonReconcileError, parts...)
}

func (s *claimStage) waits(claim string, ready xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	s.wantState(claim, "Unbound", ready, xpv1.ReasonReconcileSuccess, parts...)
}

func (s *claimStage) isBound(claim string) {
	s.t.Helper()
	s.wantState(claim, "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
}

func runClaims(t *testing.T, cases map[string]func(*claimStage)) {
	t.Helper()
	runOn(t, func(t *testing.T) *claimStage { return newClaimStage(t) }, cases)
}
