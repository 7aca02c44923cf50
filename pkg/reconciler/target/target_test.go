// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestControllerName(t *testing.T) {
	t.Parallel()
	t.Run("of one managed kind (R14)", func(t *testing.T) {
		if got := target.ControllerName(resource.ManagedKind(shop.ItemGroupVersionKind)); got != "kubernetestarget.item.shop.test.bowline.dev" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("of all that have none of their own (R14, R15)", func(t *testing.T) {
		if got := target.ControllerName(resource.ManagedKind{}); got != "kubernetestarget" {
			t.Errorf("got %s", got)
		}
	})
}

func TestConnects(t *testing.T) {
	t.Parallel()
	t.Run("the Secret is copied, and both sides agree (A68, R297, R298, R302)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.connected(nil)
		if err := s.checkAgreed("kube"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a target that names no Secret gets its UID as the name (K73)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		have, _ := s.connected(func(t *workloadv1alpha1.KubernetesTarget) { t.Spec.WriteConnectionSecretToReference = nil })
		if ref := have.Spec.WriteConnectionSecretToReference; ref == nil || ref.Name != string(have.UID) {
			t.Fatalf("it names %+v", ref)
		}
		if err := s.checkAgreed(string(have.UID)); err != nil {
			t.Error(err)
		}
	})
	t.Run("the managed resource is not written, and once all is well nothing is (R305, N13)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		item := s.newItem(nil)
		s.create(item, s.newTarget(nil))
		s.publish(item)
		life := &fault.Process{}
		s.restart(fault.InterceptWrites(s.env.Config, life.Request))
		for range 3 {
			s.pass()
		}
		if did := life.Requests(); len(did) != 4 {
			t.Errorf("want target, copy, source and status written once each, got %v", did)
		}
		after := &shop.Item{}
		err := s.env.Client.Get(t.Context(), client.ObjectKeyFromObject(item), after)
		if err != nil || after.ResourceVersion != item.ResourceVersion {
			t.Errorf("the managed resource went from version %s to %s, %v", item.ResourceVersion, after.ResourceVersion, err)
		}
		if diff := cmp.Diff([]event.Reason{target.ReasonConnected}, s.events.Take()); diff != "" {
			t.Errorf("events: -want +got:\n%s", diff)
		}
	})
}

// What a target wants, and where it is from, may change.
func TestConnectsAnew(t *testing.T) {
	t.Parallel()
	t.Run("a managed resource may have several targets (R304)", func(t *testing.T) {
		t.Parallel()
		s, other := newStage(t), newStage(t)
		item := s.newItem(func(i *shop.Item) { i.Annotations[meta.AnnotationKeyAllowedNamespaces] = "*" })
		s.create(item, s.newTarget(nil))
		other.create(other.newTarget(func(t *workloadv1alpha1.KubernetesTarget) { t.Spec.ResourceReference.Name = item.Name }))
		s.publish(item)
		for range 2 {
			s.pass()
			other.pass()
		}
		from := s.secret("hidden-source")
		for _, at := range []*stage{s, other} {
			if to := at.secret("kube"); to == nil || !meta.PropagationAllowed(from, to) || string(to.Data["kubeconfig"]) != "hunter2" {
				t.Errorf("namespace %s has %v; the source goes on to %v", at.env.Namespace, to, meta.PropagatesTo(from))
			}
		}
	})
	t.Run("another source, since the managed resource publishes elsewhere (R297)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		_, item := s.connected(nil)
		s.edit(item, func() { item.Spec.WriteConnectionSecretToReference.Name = "moved" })
		moved := s.publish(item)
		s.edit(moved, func() { moved.Data["kubeconfig"] = []byte("moved") })
		s.pass()
		to, from := s.secret("kube"), s.secret("moved")
		if !meta.PropagationAllowed(from, to) || string(to.Data["kubeconfig"]) != "moved" {
			t.Errorf("the copy has %s; the source goes on to %v", to.Data, meta.PropagatesTo(from))
		}
	})
	t.Run("another name, and the former copy is gone (K73)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		have, _ := s.connected(nil)
		s.edit(have, func() { have.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		s.pass()
		if err := s.checkAgreed("renamed"); err != nil || s.secret("kube") != nil {
			t.Errorf("the former copy is there: %t, %v", s.secret("kube") != nil, err)
		}
	})
}

// What is missing is told, and nothing is copied in part.
func TestMissing(t *testing.T) {
	t.Parallel()
	type change = func(*workloadv1alpha1.KubernetesTarget)
	names := func(gv, kind, name string) change {
		return func(t *workloadv1alpha1.KubernetesTarget) {
			t.Spec.ResourceReference = &corev1.ObjectReference{APIVersion: gv, Kind: kind, Name: name}
		}
	}
	anotherUID := func(t *workloadv1alpha1.KubernetesTarget) { t.Spec.ResourceReference.UID = "u" }
	silent := func(i *shop.Item) { i.Spec.WriteConnectionSecretToReference = nil }
	const ours = "shop.test.bowline.dev/v1"
	for name, tc := range map[string]struct {
		target change
		item   func(*shop.Item)
		says   string
		failed xpv1.ConditionReason
	}{
		"no managed resource (R301)":                    {names(ours, "Item", "nobody"), nil, `Item "nobody" does not exist`, failure.WaitingForReferences},
		"another one of that name (R301)":               {anotherUID, nil, "is not the one", xpv1.ReasonConnecting},
		"it publishes nothing (R301)":                   {nil, silent, "spec.writeConnectionSecretToRef", xpv1.ReasonConnecting},
		"it has published nothing yet (R301)":           {nil, nil, "no connection details yet", failure.WaitingForReferences},
		"no such kind (R300)":                           {names(ours, "Itme", "x"), nil, "there is no kind Itme.shop.test.bowline.dev", xpv1.ReasonConnecting},
		"a kind that is none of managed (R300)":         {names("v1", "Secret", "x"), nil, "targets cannot connect to kind Secret", xpv1.ReasonConnecting},
		"a claim, whose Secret the team has (R300)":     {names(ours, "ItemClaim", "x"), nil, "targets cannot connect to kind", xpv1.ReasonConnecting},
		"an apiVersion that cannot be: no crash (R300)": {names("a/b/c", "Item", "x"), nil, "there is no kind", xpv1.ReasonConnecting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.create(s.newItem(tc.item), s.newTarget(tc.target))
			if result := s.pass(); result.RequeueAfter != time.Minute {
				t.Errorf("comes back %+v", result)
			}
			s.wantState(xpv1.ReasonConnecting, tc.says)
			if failed := xpv1.FailureOf(s.target()); failed.Reason != tc.failed || failed.Stalled != (tc.failed == xpv1.ReasonConnecting) {
				t.Errorf("the failure is %+v", failed)
			}
			if diff := cmp.Diff([]event.Reason{"Connecting"}, s.events.Take()); diff != "" {
				t.Errorf("events: -want +got:\n%s", diff)
			}
			s.pass()
			if err := s.checkNothing(); err != nil || len(s.events.Take()) > 0 || s.secret("kube") != nil {
				t.Errorf("a Secret: %t, or more events, %v", s.secret("kube") != nil, err)
			}
		})
	}
}

// What is there is not enough, or not any more.
func TestNotThere(t *testing.T) {
	t.Parallel()
	t.Run("a Secret of that name which is not the managed resource's is not copied (R301)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.create(s.newItem(nil), s.newTarget(nil), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "hidden-source"}, Type: xpv1.SecretTypeConnection,
			Data: map[string][]byte{"kubeconfig": []byte("hunter2")},
		})
		s.pass()
		s.wantState(xpv1.ReasonConnecting, "no connection details yet")
	})
	t.Run("a copy outlives its managed resource as it is (R293)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		_, item := s.connected(nil)
		s.delete(item)
		s.pass()
		s.wantState(xpv1.ReasonConnecting, "does not exist")
		if to := s.secret("kube"); to == nil || string(to.Data["kubeconfig"]) != "hunter2" {
			t.Errorf("got %v", to)
		}
	})
	t.Run("a managed resource that is being deleted gets no new targets (R301)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		item := s.newItem(func(i *shop.Item) { i.Finalizers = []string{"test.bowline.dev/held"} })
		s.create(item, s.newTarget(nil))
		s.publish(item)
		s.delete(item)
		s.pass()
		s.wantState(xpv1.ReasonConnecting, "is being deleted")
		if s.secret("kube") != nil {
			t.Error("its Secret was copied")
		}
	})
}

// Targets that are not this controller's are left alone.
func TestServes(t *testing.T) {
	t.Parallel()
	t.Run("a controller of one kind ignores targets of others (R296, R300)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		item := s.newItem(nil)
		s.create(item, s.newTarget(nil))
		s.publish(item)
		gadgets := s.newReconciler(s.env.Config, resource.ManagedKind(shop.GadgetGroupVersionKind))
		if _, err := s.tryPassOf(gadgets); err != nil || s.secret("kube") != nil || len(s.target().Status.Conditions) > 0 {
			t.Errorf("it has %+v, %v", s.target().Status, err)
		}
		items := s.newReconciler(s.env.Config, resource.ManagedKind(shop.ItemGroupVersionKind))
		if result, err := s.tryPassOf(items); err != nil || result.RequeueAfter != time.Minute {
			t.Errorf("one that is put together by hand comes back %+v, %v", result, err)
		}
		if err := s.checkAgreed("kube"); err != nil {
			t.Error(err)
		}
	})
	t.Run("the controller of all kinds leaves those of other programs to them (R300)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.create(s.newTarget(func(t *workloadv1alpha1.KubernetesTarget) {
			t.Spec.ResourceReference.APIVersion, t.Spec.ResourceReference.Kind = stranger().GroupVersion().String(), stranger().Kind
		}))
		if s.pass(); len(s.target().Status.Conditions) > 0 {
			t.Errorf("it has %+v", s.target().Status)
		}
	})
}

// Somebody else's Secret stays as it is.
func TestForeignSecret(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]corev1.SecretType{
		"of another type (R303)": corev1.SecretTypeOpaque, "of the same type (R303)": xpv1.SecretTypeConnection,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			item := s.newItem(nil)
			foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "kube"}, Type: kind}
			s.create(item, s.newTarget(nil), foreign)
			s.publish(item)
			s.pass()
			s.wantState(xpv1.ReasonConnecting, `secret "kube" exists and does not belong to this target`)
			if got := s.secret("kube"); got.ResourceVersion != foreign.ResourceVersion {
				t.Errorf("it was written: %+v", got)
			}
			s.delete(foreign)
			s.pass()
			if err := s.checkAgreed("kube"); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a copy that its holder took from the target is told nothing more (R303, R289)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.connected(nil)
		to := s.secret("kube")
		s.edit(to, func() { to.OwnerReferences = nil })
		s.pass()
		s.wantState(xpv1.ReasonConnecting, "does not belong")
		if going := meta.PropagatesTo(s.secret("hidden-source")); len(going) > 0 {
			t.Errorf("it goes on to %v", going)
		}
	})
	t.Run("a claim's copy of the same managed resource stays one (R303)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		item := s.newItem(nil)
		claim := &shop.ItemClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "orders"}}
		s.create(item, s.newTarget(nil), claim)
		claims := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "kube"}, Type: xpv1.SecretTypeConnection}
		claims.OwnerReferences = []metav1.OwnerReference{meta.AsController(claim, shop.ItemClaimGroupVersionKind)}
		s.create(claims)
		from := s.publish(item)
		s.edit(from, func() { meta.AllowPropagation(from, claims) })
		s.pass()
		s.wantState(xpv1.ReasonConnecting, "does not belong")
		if going := meta.PropagatesTo(s.secret("hidden-source")); len(going) != 1 {
			t.Errorf("it goes on to %v", going)
		}
		s.delete(s.target())
		s.pass()
		if to := s.secret("kube"); to == nil || to.ResourceVersion != claims.ResourceVersion {
			t.Errorf("it was touched: %v", to)
		}
	})
}

// A target that goes takes its copy along.
func TestDeletion(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]metav1.DeletionPropagation{
		"with what it controls (R302)":             metav1.DeletePropagationBackground,
		"also where that is to be orphaned (R302)": metav1.DeletePropagationOrphan,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			have, _ := s.connected(nil)
			s.delete(have, client.PropagationPolicy(policy))
			if policy == metav1.DeletePropagationOrphan {
				s.env.Eventually(t, "the garbage collector orphans the copy", func(context.Context) error {
					if to := s.secret("kube"); len(to.OwnerReferences) > 0 {
						return fmt.Errorf("it has owners %+v", to.OwnerReferences)
					}
					return nil
				})
			}
			s.env.Eventually(t, "the target is gone", func(context.Context) error {
				s.pass() // the garbage collector writes at the same time
				if s.get("there", have) {
					return fmt.Errorf("it is held by %v", have.Finalizers)
				}
				return nil
			})
			if err := s.checkNothing(); err != nil || s.secret("kube") != nil {
				t.Errorf("the copy is there: %t, %v", s.secret("kube") != nil, err)
			}
		})
	}
	t.Run("without its managed resource (R302)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		have, item := s.connected(nil)
		s.delete(item)
		s.delete(have)
		s.pass()
		if s.get("there", have) || s.secret("kube") != nil {
			t.Error("it is there, or its copy")
		}
	})
	t.Run("one that never had anything goes at once (R302)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.create(s.newTarget(nil))
		s.pass()
		s.delete(s.target())
		if s.get("there", &workloadv1alpha1.KubernetesTarget{}) {
			t.Error("it is held")
		}
	})
	t.Run("a target that is gone ends without error (R16)", func(t *testing.T) {
		t.Parallel()
		if result := newStage(t).pass(); !result.IsZero() {
			t.Errorf("got %+v", result)
		}
	})
}
