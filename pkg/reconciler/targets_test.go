// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// What targets do besides what they have in common with claims.
func TestTargets(t *testing.T) {
	t.Parallel()
	runOn(t, newTargetStage, map[string]func(*targetStage){
		"a target that names no Secret gets its UID as the name (K73)": func(s *targetStage) {
			item := s.newItem(nil)
			s.create(item, s.newTarget(func(t *workloadv1alpha1.KubernetesTarget) { t.Spec.WriteConnectionSecretToReference = nil }))
			s.publish(item)
			s.pass()
			have := s.target()
			if ref := have.Spec.WriteConnectionSecretToReference; ref == nil || ref.Name != string(have.UID) {
				s.t.Fatalf("it names %+v", ref)
			}
			if err := s.checkAgreed(string(have.UID)); err != nil {
				s.t.Error(err)
			}
		},
		"the managed resource is not written, and once all is well nothing is (R305, N13)": func(s *targetStage) {
			item := s.published()
			life := &fault.Process{}
			s.restart(fault.InterceptWrites(s.Config, life.Request))
			for range 3 {
				s.pass()
			}
			if did := life.Requests(); len(did) != 4 {
				s.t.Errorf("want target, copy, source and status written once each, got %v", did)
			}
			after := &shop.Item{}
			err := s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(item), after)
			if err != nil || after.ResourceVersion != item.ResourceVersion {
				s.t.Errorf("the managed resource went from version %s to %s, %v", item.ResourceVersion, after.ResourceVersion, err)
			}
			s.wantEvents(target.ReasonConnected)
		},
		"a controller of one kind ignores targets of others (R296, R300)": func(s *targetStage) {
			s.published()
			s.reconciler = s.newReconciler(s.Config, resource.ManagedKind(shop.GadgetGroupVersionKind))
			if _, err := s.tryPass("there"); err != nil || s.secret("kube") != nil || len(s.target().Status.Conditions) > 0 {
				s.t.Errorf("it has %+v, %v", s.target().Status, err)
			}
			s.reconciler = s.newReconciler(s.Config, items)
			if result, err := s.tryPass("there"); err != nil || result.RequeueAfter != time.Minute {
				s.t.Errorf("one that is put together by hand comes back %+v, %v", result, err)
			}
			if err := s.checkAgreed("kube"); err != nil {
				s.t.Error(err)
			}
		},
		"the controller of all kinds leaves those of other programs to them (R300)": func(s *targetStage) {
			s.create(s.newTarget(func(t *workloadv1alpha1.KubernetesTarget) {
				t.Spec.ResourceReference.APIVersion, t.Spec.ResourceReference.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
			}))
			if s.pass(); len(s.target().Status.Conditions) > 0 {
				s.t.Errorf("it has %+v", s.target().Status)
			}
		},
		"a managed resource may have several targets (R304)": func(s *targetStage) {
			other := newTargetStage(s.t)
			item := s.newItem(func(i *shop.Item) { i.Annotations[meta.AnnotationKeyAllowedNamespaces] = "*" })
			s.create(item, s.newTarget(nil))
			other.create(other.newTarget(func(t *workloadv1alpha1.KubernetesTarget) { t.Spec.ResourceReference.Name = item.Name }))
			s.publish(item)
			for range 2 {
				s.pass()
				other.pass()
			}
			from := s.secret("hidden-source")
			for _, at := range []*targetStage{s, other} {
				if to := at.secret("kube"); to == nil || !meta.PropagationAllowed(from, to) || string(to.Data["kubeconfig"]) != "hunter2" {
					s.t.Errorf("namespace %s has %v; the source is copied to %v", at.Namespace, to, meta.PropagatesTo(from))
				}
			}
		},
	})
}

// What keeps a target from its copy, and what happens when it is deleted.
func TestTargetsEnd(t *testing.T) {
	t.Parallel()
	runOn(t, newTargetStage, map[string]func(*targetStage){
		"a managed resource that is being deleted gets no new targets (R301)": func(s *targetStage) {
			item := s.newItem(func(i *shop.Item) { i.Finalizers = []string{"test.bowline.dev/held"} })
			s.create(item, s.newTarget(nil))
			s.publish(item)
			s.delete(item)
			s.pass()
			s.wantState(xpv1.ReasonConnecting, "is being deleted")
			if s.secret("kube") != nil {
				s.t.Error("its Secret was copied")
			}
		},
		"a claim's copy of the same managed resource stays one (R303)": func(s *targetStage) {
			item := s.newItem(nil)
			claim := &shop.ItemClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "orders"}}
			s.create(item, s.newTarget(nil), claim)
			claims := s.connectionSecret("kube", nil)
			claims.OwnerReferences = []metav1.OwnerReference{meta.AsController(claim, shop.ItemClaimGroupVersionKind)}
			s.create(claims)
			from := s.publish(item)
			s.edit(from, func() { meta.AllowPropagation(from, claims) })
			s.pass()
			s.wantState(failure.ConnectionSecretUnavailable, "does not belong")
			if going := meta.PropagatesTo(s.secret("hidden-source")); len(going) != 1 {
				s.t.Errorf("it is copied to %v", going)
			}
			s.delete(s.target())
			s.pass()
			if to := s.secret("kube"); to == nil || to.ResourceVersion != claims.ResourceVersion {
				s.t.Errorf("it was touched: %v", to)
			}
		},
		"one that never had anything goes at once (R302)": func(s *targetStage) {
			s.create(s.newTarget(nil))
			s.pass()
			s.delete(s.target())
			if s.get("there", &workloadv1alpha1.KubernetesTarget{}) {
				s.t.Error("it is held")
			}
		},
		"a target that is gone ends without error (R16)": func(s *targetStage) {
			if result := s.pass(); !result.IsZero() {
				s.t.Errorf("got %+v", result)
			}
		},
		"a copy that got another controller is given nothing more, and another target gets consent again (N27, R289)": func(s *targetStage) {
			have, _ := s.connected()
			owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "owner"}}
			s.create(owner, s.newTarget(func(t *workloadv1alpha1.KubernetesTarget) {
				t.Name, t.Spec.WriteConnectionSecretToReference.Name = "other", "others"
			}))
			s.passOf("other")
			taken := s.secret("kube")
			s.edit(taken, func() {
				taken.OwnerReferences = []metav1.OwnerReference{meta.AsController(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
			})
			s.delete(have)
			s.pass()
			s.passOf("other")
			from, others := s.secret("hidden-source"), s.secret("others")
			if going := meta.PropagatesTo(from); len(going) != 1 || !meta.PropagationAllowed(from, others) {
				s.t.Errorf("the source consents to %v", going)
			}
			if s.get("there", have) || s.secret("kube") == nil {
				s.t.Error("the target exists, or what belongs to another is gone")
			}
		},
	})
}

// What is missing is reported, and nothing is copied in part.
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
		part   string
		failed xpv1.ConditionReason
	}{
		"no managed resource (R301)":                    {names(ours, "Item", "none"), nil, `Item "none" does not exist`, failure.WaitingForReferences},
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
			s := newTargetStage(t)
			s.create(s.newItem(tc.item), s.newTarget(tc.target))
			if result := s.pass(); result.RequeueAfter != time.Minute {
				t.Errorf("comes back %+v", result)
			}
			s.wantState(xpv1.ReasonConnecting, tc.part)
			if failed := xpv1.FailureOf(s.target()); failed.Reason != tc.failed || failed.Stalled != (tc.failed == xpv1.ReasonConnecting) {
				t.Errorf("the failure is %+v", failed)
			}
			s.wantEvents("Connecting")
			s.pass()
			if err := s.checkNothing(); err != nil || len(s.events.Take()) > 0 || s.secret("kube") != nil {
				t.Errorf("a Secret: %t, or more events, %v", s.secret("kube") != nil, err)
			}
		})
	}
}

// A pass that fails is reported as far as that is for the team, and repeated.
func TestTargetFailure(t *testing.T) {
	t.Parallel()
	s := newTargetStage(t)
	s.connected()
	s.refuse(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/hidden-source") })
	s.restart(s.access())
	t.Run("it keeps what it has, and reports once, without names of what is the platform's (R301, N13)", func(t *testing.T) {
		s.Eventually(t, "it is reported", func(context.Context) error {
			if _, err := s.tryPass("there"); err == nil {
				t.Error("the queue gets no error")
			}
			if ready := s.target().GetCondition(xpv1.TypeReady); ready.Reason != xpv1.ConditionReason(target.ReasonCannotConnect) {
				return fmt.Errorf("ready is %+v", ready)
			}
			return nil
		})
		if _, err := s.tryPass("there"); err == nil {
			t.Error("the queue gets no error")
		}
		have := s.target()
		ready, synced := have.GetCondition(xpv1.TypeReady), have.GetCondition(xpv1.TypeSynced)
		if ready.Status != corev1.ConditionUnknown || synced.Reason != xpv1.ReasonReconcileError || s.secret("kube") == nil {
			t.Errorf("Ready is %s, Synced %s, and a copy: %t", ready.Reason, synced.Reason, s.secret("kube") != nil)
		}
		if failed := xpv1.FailureOf(have); failed != (xpv1.CurrentFailure{Reason: failure.InternalError, Message: synced.Message}) {
			t.Errorf("the failure is %+v", failed)
		}
		if part := "reading the connection details of the managed resource failed"; !strings.Contains(synced.Message, part) ||
			strings.Contains(synced.Message, "hidden") {
			t.Errorf("the team reads %q", synced.Message)
		}
		s.wantEvents(target.ReasonCannotConnect)
	})
	t.Run("it resumes when it can (R301)", func(t *testing.T) {
		s.restart(s.Config)
		s.pass()
		s.wantState(xpv1.ReasonAvailable)
	})
}

// A target whose cluster has objects of applications keeps its Secret when it is deleted, until they are gone (N94).
func TestTargetsInUse(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"the cluster is there (N94)": false, "the cluster is gone, which the objects have to know (N94)": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTargetStage(t)
			target, item := s.connected()
			user := &workloadv1alpha1.KubernetesApplicationResource{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "user"}}
			user.Spec.Template = template("a", configMap("cm", nil)).Spec.Template
			s.create(user)
			s.status(user, func() {
				user.Status.Inventory = []workloadv1alpha1.RemoteObject{{Target: target.Name, APIVersion: "v1", Kind: "ConfigMap", Name: "cm"}}
			})
			want := failure.WaitingForDependents
			if gone {
				want = failure.ExternalResourceLost
				s.delete(item)
				s.gone(item)
			}
			s.delete(target)
			if result := s.pass(); result.RequeueAfter == 0 || result.RequeueAfter > 5*time.Second {
				t.Errorf("it looks again after %s", result.RequeueAfter)
			}
			if got := xpv1.FailureOf(s.target()); got.Reason != want || !strings.Contains(got.Message+s.target().GetCondition(xpv1.TypeReady).Message, `"user"`) {
				t.Errorf("it reports %+v", got)
			}
			if s.secret("kube") == nil {
				t.Error("its Secret is gone")
			}
			s.delete(user)
			s.pass()
			s.gone(target)
			s.hasNothing()
		})
	}
}
