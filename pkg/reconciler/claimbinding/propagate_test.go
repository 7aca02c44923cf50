// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
)

// agreed checks that the claim has a copy of the item's Secret and that both agree on it, and nothing else.
func (s *stage) agreed(name string, claim *shop.ItemClaim, item *shop.Item) {
	s.t.Helper()
	source, to := &corev1.Secret{}, &corev1.Secret{}
	if !s.get(item.Spec.WriteConnectionSecretToReference.Name, source) || !s.get(name, to) {
		s.t.Fatal("one of the Secrets is not there")
	}
	if diff := cmp.Diff(source.Data, to.Data); diff != "" || to.Type != xpv1.SecretTypeConnection {
		s.t.Errorf("type %q; data, -source +copy:\n%s", to.Type, diff)
	}
	if !metav1.IsControlledBy(to, claim) || !metav1.IsControlledBy(source, item) {
		s.t.Errorf("owners of the copy %v, of the source %v", to.OwnerReferences, source.OwnerReferences)
	}
	if !meta.PropagationAllowed(source, to) || len(meta.PropagatesTo(source)) != 1 {
		s.t.Errorf("annotations of the source %v, of the copy %v", source.Annotations, to.Annotations)
	}
}

// The claim's copy of the connection Secret.
func TestPropagate(t *testing.T) {
	t.Parallel()
	t.Run("the claim gets a copy of its own, and both sides agree (R270, R271, R272)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		s.agreed("orders-connection", claim, item)
	})
	t.Run("a claim that names no Secret gets none (R278)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, _ := s.bound(func(c *shop.ItemClaim) { c.Spec.WriteConnectionSecretToReference = nil })
		list := &corev1.SecretList{}
		if err := s.env.Client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, secret := range list.Items {
			if metav1.IsControlledBy(&secret, claim) {
				t.Errorf("it has %s", secret.Name)
			}
		}
	})
	t.Run("another name: the old copy goes, the new one appears (R278)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		s.pass()
		s.agreed("renamed", claim, item)
		if s.secret("orders-connection") != nil {
			t.Error("the old copy is still there")
		}
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference = nil })
		s.pass()
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		if to := meta.PropagatesTo(source); len(to) > 0 || s.secret("renamed") != nil {
			t.Errorf("the source goes on to %v", to)
		}
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("a copy that somebody deleted, or whose marks somebody forged, is put right (R271)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		forged := &corev1.Secret{}
		s.get("orders-connection", forged)
		s.edit(forged, func() {
			forged.Annotations[meta.AnnotationKeyPropagateFromName] = "another"
			forged.Data["password"] = []byte("forged")
		})
		s.pass()
		s.agreed("orders-connection", claim, item)
		s.delete(forged)
		s.pass()
		s.agreed("orders-connection", claim, item)
	})
}

// The copy follows its source, and has what the claim derives from it.
func TestContent(t *testing.T) {
	t.Parallel()
	t.Run("a source that was published anew is followed (R271)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		s.delete(source)
		s.pass()
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
		s.saysSynced("is gone", "orders-connection", "published again")
		if diff := cmp.Diff(map[string]string{"password": "hunter2", "username": "admin"}, s.secret("orders-connection")); diff != "" {
			t.Errorf("meanwhile, -want +got:\n%s", diff)
		}
		s.ready(item, "hunter3")
		s.pass()
		s.agreed("orders-connection", claim, item)
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("keys that the claim derives are there from the beginning (R270)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.bound(func(c *shop.ItemClaim) {
			c.Annotations = map[string]string{connection.AnnotationKeyConnectionKeys: `{"LOGIN": "$(username):$(password)"}`}
		})
		if got := s.secret("orders-connection")["LOGIN"]; got != "admin:hunter2" {
			t.Errorf("LOGIN is %q", got)
		}
	})
	t.Run("a mistake in derived keys shows, and keeps nothing else from working (R282)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, _ := s.bound(nil)
		s.edit(claim, func() {
			claim.Annotations[connection.AnnotationKeyConnectionKeys] = `{"URL": "$(nothing)"}`
		})
		for range 2 {
			s.pass()
			s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
			s.wantFailure(failure.BadConnectionKeys, true)
		}
		if diff := cmp.Diff([]event.Reason{claimbinding.ReasonBadConnectionKeys}, s.events.Take()); diff != "" {
			t.Errorf("events, -want +got:\n%s", diff)
		}
	})
}

// Secrets that are not the claim's, or not the managed resource's, are neither overwritten nor read.
func TestForeignSecrets(t *testing.T) {
	t.Parallel()
	foreign := map[string]func(*stage, *corev1.Secret){
		"somebody's own (R278)":   func(_ *stage, secret *corev1.Secret) { secret.Type = corev1.SecretTypeOpaque },
		"a connection's (R278)":   func(_ *stage, secret *corev1.Secret) { secret.Type = xpv1.SecretTypeConnection },
		"made to look own (R278)": func(s *stage, secret *corev1.Secret) { s.forge(secret) },
	}
	for name, change := range foreign {
		t.Run(name+" stays as it is", func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			claim := s.newClaim("orders", nil)
			s.create(s.newClass(nil), claim)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "orders-connection"}}
			secret.Data = map[string][]byte{"mine": []byte("precious")}
			change(s, secret)
			s.create(secret)
			s.pass()
			s.ready(s.item(), "hunter2")
			if rest := s.pass(); rest.RequeueAfter == 0 {
				t.Error("nobody comes back")
			}
			s.wantState("orders", "Bound", xpv1.ReasonBinding, xpv1.ReasonReconcileError, "orders-connection", "name another")
			s.wantFailure(failure.ConnectionSecretUnavailable, true)
			if diff := cmp.Diff(map[string]string{"mine": "precious"}, s.secret("orders-connection")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			s.delete(secret)
			s.pass()
			s.agreed("orders-connection", claim, s.item())
		})
	}
	t.Run("a source that is not the managed resource's own is not copied (R272)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		item := s.newItem("legacy", s.toNamespace)
		stolen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "legacy-source"}}
		stolen.Type, stolen.Data = xpv1.SecretTypeConnection, map[string][]byte{"password": []byte("stolen")}
		s.create(item, stolen)
		s.status(item, func() { item.SetBindingPhase(xpv1.BindingPhaseUnbound) })
		s.create(s.newClaim("orders", s.static(item.Name)))
		s.pass()
		s.wantState("orders", "Bound", xpv1.ReasonBinding, xpv1.ReasonReconcileSuccess, "no connection details")
		if got := s.secret("orders-connection"); got != nil {
			t.Errorf("it was copied: %v", got)
		}
	})
}

// forge gives a Secret that is no connection Secret the claim as controller.
func (s *stage) forge(secret *corev1.Secret) {
	secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(s.claimOf("orders"), shop.ItemClaimGroupVersionKind)}
}

// Whoever took a copy from its claim, to keep it, learns nothing of what comes later.
func TestTakenCopies(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*stage, *shop.ItemClaim, *shop.Item){
		"the claim is deleted (R279)": func(s *stage, claim *shop.ItemClaim, _ *shop.Item) {
			s.delete(claim)
			s.pass()
		},
		"the claim names another Secret (R278)": func(s *stage, claim *shop.ItemClaim, _ *shop.Item) {
			s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "other" })
			s.pass()
		},
		"another claim gets it (R274)": func(s *stage, _ *shop.ItemClaim, item *shop.Item) {
			s.edit(item, func() { s.toClaim("again")(item) })
			s.create(s.newClaim("again", s.static(item.Name)))
			s.passOf("again")
		},
		"an administrator takes it away (N27)": func(s *stage, _ *shop.ItemClaim, item *shop.Item) {
			s.edit(item, func() { item.Spec.ClaimReference = nil })
			s.pass()
		},
		"it still has the name (R271)": func(s *stage, _ *shop.ItemClaim, _ *shop.Item) { s.pass() },
		"it still has the name, and belongs to another object (R271)": func(s *stage, _ *shop.ItemClaim, _ *shop.Item) {
			another, taken := &corev1.ConfigMap{}, &corev1.Secret{}
			another.Namespace, another.Name = s.env.Namespace, "another"
			s.create(another)
			s.get("orders-connection", taken)
			s.edit(taken, func() {
				taken.OwnerReferences = []metav1.OwnerReference{meta.AsController(another, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
			})
			s.pass()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			claim, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
			taken := &corev1.Secret{}
			s.get("orders-connection", taken)
			s.edit(taken, func() { taken.OwnerReferences = nil })
			lose(s, claim, item)
			source := &corev1.Secret{}
			s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
			if meta.PropagationAllowed(source, taken) {
				t.Errorf("the source goes on to %v", meta.PropagatesTo(source))
			}
		})
	}
	t.Run("a target's copy stays as long as the claim (R306)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
		source, to := &corev1.Secret{}, &corev1.Secret{Type: xpv1.SecretTypeConnection}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		to.Namespace, to.Name = s.env.Namespace, "target"
		to.OwnerReferences = []metav1.OwnerReference{{ // in a version that the garbage collector does not know
			APIVersion: "workload.crossplane.io/v0", Kind: "KubernetesTarget", Name: "target", UID: "target", Controller: new(true)}}
		meta.AllowPropagationFrom(to, source)
		s.create(to)
		s.edit(source, func() { meta.AllowPropagationTo(source, to) })
		s.pass()
		if s.get(source.Name, source); !meta.PropagationAllowed(source, to) {
			t.Error("it was forgotten")
		}
		s.delete(claim)
		s.pass()
		if s.get(source.Name, source); meta.PropagationAllowed(source, to) {
			t.Error("it outlives the claim")
		}
	})
}

// The quota of the team's own namespace.
func TestQuota(t *testing.T) {
	t.Parallel()
	t.Run("a namespace without room for the copy (R270, N10)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.create(s.newClass(nil), s.newClaim("orders", nil))
		s.pass()
		item := s.item()
		s.ready(item, "hunter2")
		full := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "full"}}
		full.Spec.Hard = corev1.ResourceList{"count/secrets": quantity.MustParse("1")}
		s.create(full)
		s.env.Eventually(t, "the quota counts", func(ctx context.Context) error {
			if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(full), full); err != nil || full.Status.Used == nil {
				return fmt.Errorf("%v, %v", full.Status, err)
			}
			return nil
		})
		s.pass()
		s.wantState("orders", "Bound", xpv1.ReasonBinding, xpv1.ReasonReconcileError, "cannot be created", "resource quota")
		if said := s.claimOf("orders").GetCondition(xpv1.TypeReady).Message; strings.Contains(said, "used: ") {
			t.Errorf("what changes all the time is told: %s", said)
		}
		s.delete(full)
		s.env.Eventually(t, "the claim has its Secret", func(context.Context) error {
			if s.pass(); s.secret("orders-connection") == nil { // the API server's own cache of quotas may be behind
				return errors.New("it has not")
			}
			return nil
		})
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
}
